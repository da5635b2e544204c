// The AWS SDK for JavaScript, version 3, with its document client. Run by `test_other_clients.py`.

import assert from "node:assert/strict";
import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  paginateListTables,
  paginateQuery as paginatePlainQuery,
  PutItemCommand,
  ResourceInUseException,
  ResourceNotFoundException,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  NumberValue,
  paginateQuery,
  paginateScan,
  PutCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";

const TableName = "Orders";
const client = new DynamoDBClient({ endpoint: process.env.ENDPOINT });
const documents = DynamoDBDocumentClient.from(client, {
  marshallOptions: { removeUndefinedValues: true },
});
const waiting = { client, maxWaitTime: 30, minDelay: 1, maxDelay: 1 };

const key = (Customer, Number) => ({ Customer, Number });
const order = (number, more) => ({ ...key("ann", number), State: number % 2 ? "open" : "paid", ...more });
const range = (from, to, step = 1) => {
  const numbers = [];
  for (let number = from; step > 0 ? number <= to : number >= to; number += step) numbers.push(number);
  return numbers;
};

const table = {
  TableName,
  KeySchema: [
    { AttributeName: "Customer", KeyType: "HASH" },
    { AttributeName: "Number", KeyType: "RANGE" },
  ],
  AttributeDefinitions: [
    { AttributeName: "Customer", AttributeType: "S" },
    { AttributeName: "Number", AttributeType: "N" },
    { AttributeName: "State", AttributeType: "S" },
    { AttributeName: "Date", AttributeType: "S" },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: "ByState",
      KeySchema: [
        { AttributeName: "State", KeyType: "HASH" },
        { AttributeName: "Number", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "KEYS_ONLY" },
    },
  ],
  LocalSecondaryIndexes: [
    {
      IndexName: "ByDate",
      KeySchema: [
        { AttributeName: "Customer", KeyType: "HASH" },
        { AttributeName: "Date", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["State"] },
    },
  ],
  BillingMode: "PAY_PER_REQUEST",
};

async function tables() {
  await client.send(new CreateTableCommand(table));
  const waited = await waitUntilTableExists(waiting, { TableName });
  assert.equal(waited.state, "SUCCESS");
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  assert.equal(Table.GlobalSecondaryIndexes[0].IndexStatus, "ACTIVE");
  assert.deepEqual(Table.LocalSecondaryIndexes[0].Projection.NonKeyAttributes, ["State"]);
  assert.ok(Table.CreationDateTime instanceof Date);
}

async function values() {
  const Item = {
    ...key("types", 1),
    S: "é\n\u2028\u{1f40d}",
    N: -1.25,
    B: Uint8Array.from(range(0, 255)),
    SS: new Set(["a", "b"]),
    NS: new Set([1, 2]),
    BS: new Set([Uint8Array.of(0), Uint8Array.of(255)]),
    BOOL: false,
    NULL: null,
    L: ["", [], 1e-7],
    M: { inner: {}, missing: undefined },
    Large: NumberValue.from("12345678901234567890123456789012345678"),
  };
  await documents.send(new PutCommand({ TableName, Item }));
  const exact = { unmarshallOptions: { wrapNumbers: NumberValue.from } };
  const precise = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint: process.env.ENDPOINT }), exact);
  const Key = key("types", 1);
  const { Item: wrapped } = await precise.send(new GetCommand({ TableName, Key, ConsistentRead: true }));
  assert.equal(wrapped.Large.toString(), "12345678901234567890123456789012345678");
  const reading = { TableName, Key, ProjectionExpression: "S,N,B,SS,NS,BS,#b,#n,L,M" };
  const { Item: found } = await documents.send(
    new GetCommand({ ...reading, ExpressionAttributeNames: { "#b": "BOOL", "#n": "NULL" } }),
  );
  const { Customer, Number, Large, ...rest } = Item;
  delete rest.M.missing;
  assert.deepEqual(found, rest);
  const { Item: absent } = await documents.send(new GetCommand({ TableName, Key: key("types", 2) }));
  assert.equal(absent, undefined);
  await client.send(new PutItemCommand({ TableName, Item: { Customer: { S: "plain" }, Number: { N: "1.50" } } }));
  const plain = await client.send(
    new GetItemCommand({ TableName, Key: { Customer: { S: "plain" }, Number: { N: "1.5" } } }),
  );
  assert.deepEqual(plain.Item, { Customer: { S: "plain" }, Number: { N: "1.5" } });
}

async function conditions() {
  const put = () =>
    documents.send(
      new PutCommand({
        TableName,
        Item: order(1),
        ConditionExpression: "attribute_not_exists(Customer)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
  const outcomes = await Promise.allSettled(range(1, 20).map(put));
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  for (const { reason } of outcomes.filter(({ status }) => status === "rejected")) {
    assert.ok(reason instanceof ConditionalCheckFailedException);
    assert.equal(reason.message, "The conditional request failed");
    assert.deepEqual(reason.Item, { Customer: { S: "ann" }, Number: { N: "1" }, State: { S: "open" } });
    assert.equal(reason.$metadata.httpStatusCode, 400);
    assert.equal(reason.$metadata.attempts, 1);
  }
  const add = () =>
    documents.send(
      new UpdateCommand({
        TableName,
        Key: key("ann", 1),
        UpdateExpression: "ADD Cents :one",
        ExpressionAttributeValues: { ":one": 1 },
        ReturnValues: "UPDATED_NEW",
      }),
    );
  const cents = (await Promise.all(range(1, 50).map(add))).map(({ Attributes }) => Attributes.Cents);
  assert.deepEqual(cents.sort((a, b) => a - b), range(1, 50));
}

async function errors() {
  await assert.rejects(documents.send(new GetCommand({ TableName: "Absent", Key: key("ann", 1) })), (error) => {
    assert.ok(error instanceof ResourceNotFoundException);
    assert.match(error.message, /Requested resource not found/);
    return true;
  });
  await assert.rejects(client.send(new CreateTableCommand(table)), ResourceInUseException);
  await assert.rejects(documents.send(new GetCommand({ TableName, Key: { Customer: "ann" } })), {
    name: "ValidationException",
    message: "The provided key element does not match the schema",
  });
  await assert.rejects(
    waitUntilTableExists({ ...waiting, maxWaitTime: 2 }, { TableName: "Absent" }),
    { name: "TimeoutError" },
  );
}

async function batches() {
  const pad = new Uint8Array(380_000).fill(120);
  for (const start of [1, 26]) {
    const requests = range(start, start + 24).map((number) => ({
      PutRequest: { Item: order(number, { Date: String(number).padStart(3, "0"), Pad: pad }) },
    }));
    let left = { [TableName]: requests };
    while (Object.keys(left).length) {
      left = (await documents.send(new BatchWriteCommand({ RequestItems: left }))).UnprocessedItems;
    }
  }
  let wanted = { [TableName]: { Keys: range(1, 50).map((number) => key("ann", number)) } };
  let found = 0;
  let rounds = 0;
  while (Object.keys(wanted).length) {
    const answer = await documents.send(new BatchGetCommand({ RequestItems: wanted }));
    found += answer.Responses[TableName]?.length ?? 0;
    wanted = answer.UnprocessedKeys;
    rounds += 1;
  }
  assert.equal(found, 50);
  assert.ok(rounds > 1, "an answer ends at 16 MB");
}

async function pages() {
  const query = {
    TableName,
    KeyConditionExpression: "Customer = :c",
    ExpressionAttributeValues: { ":c": "ann" },
  };
  const counts = [];
  for await (const page of paginateQuery({ client: documents }, query)) counts.push(page.Items.length);
  assert.equal(counts.reduce((sum, count) => sum + count), 50);
  assert.ok(counts.length > 10, "a page ends at 1 MB");
  const numbers = [];
  const byState = {
    TableName,
    IndexName: "ByState",
    KeyConditionExpression: "#s = :open AND #n BETWEEN :from AND :to",
    ExpressionAttributeNames: { "#s": "State", "#n": "Number" },
    ExpressionAttributeValues: { ":open": "open", ":from": 5, ":to": 20 },
    ScanIndexForward: false,
  };
  for await (const page of paginateQuery({ client: documents, pageSize: 3 }, byState)) {
    assert.ok(page.Items.length <= 3);
    numbers.push(...page.Items.map(({ Number }) => Number));
  }
  assert.deepEqual(numbers, range(19, 5, -2));
  const byDate = {
    TableName,
    IndexName: "ByDate",
    KeyConditionExpression: "Customer = :c AND #d < :d",
    ExpressionAttributeNames: { "#d": "Date" },
    ExpressionAttributeValues: { ":c": { S: "ann" }, ":d": { S: "003" } },
  };
  const dated = [];
  for await (const page of paginatePlainQuery({ client }, byDate)) dated.push(...page.Items);
  assert.deepEqual(dated, [1, 2].map((number) => ({
    Customer: { S: "ann" },
    Number: { N: String(number) },
    Date: { S: `00${number}` },
    State: { S: number % 2 ? "open" : "paid" },
  })));
  let scanned = 0;
  for (const Segment of range(0, 3)) {
    const scan = { TableName, Segment, TotalSegments: 4, Select: "COUNT" };
    for await (const page of paginateScan({ client: documents }, scan)) scanned += page.Count;
  }
  assert.equal(scanned, 52);
}

async function deletion() {
  const gone = await documents.send(
    new DeleteCommand({ TableName, Key: key("plain", 1.5), ReturnValues: "ALL_OLD" }),
  );
  assert.deepEqual(gone.Attributes, key("plain", 1.5));
  await client.send(new DeleteTableCommand({ TableName }));
  assert.equal((await waitUntilTableNotExists(waiting, { TableName })).state, "SUCCESS");
  const names = [];
  for await (const page of paginateListTables({ client }, {})) names.push(...page.TableNames);
  assert.deepEqual(names, []);
}

for (const step of [tables, values, conditions, errors, batches, pages, deletion]) {
  await step();
  console.log(step.name);
}
