// The AWS SDK for Go, version 2, with its expression builder. Run by `test_other_clients.py`.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sort"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const waitMax = 30 * time.Second

var table = aws.String("Orders")

type item = map[string]types.AttributeValue

// Order has every type that Go's structs map to.
type Order struct {
	Customer string
	Number   int
	State    string            `dynamodbav:",omitempty"`
	Total    float64           `dynamodbav:",omitempty"`
	Pad      []byte            `dynamodbav:",omitempty"`
	Texts    []string          `dynamodbav:",stringset,omitempty"`
	Numbers  []int             `dynamodbav:",numberset,omitempty"`
	Binaries [][]byte          `dynamodbav:",binaryset,omitempty"`
	Yes      *bool             `dynamodbav:",omitempty"`
	List     []string          `dynamodbav:",omitempty"`
	Map      map[string]string `dynamodbav:",omitempty"`
	Null     any               `dynamodbav:",omitempty"`
}

func order(number int) Order {
	state := "paid"
	if number%2 == 1 {
		state = "open"
	}
	return Order{Customer: "ann", Number: number, State: state}
}

func key(customer string, number int) item {
	return item{
		"Customer": &types.AttributeValueMemberS{Value: customer},
		"Number":   &types.AttributeValueMemberN{Value: fmt.Sprint(number)},
	}
}

func require(holds bool, what ...any) {
	if !holds {
		panic(fmt.Sprint(what...))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func schema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: &hash, KeyType: types.KeyTypeHash},
		{AttributeName: &sort, KeyType: types.KeyTypeRange},
	}
}

func tables(ctx context.Context, client *dynamodb.Client) {
	definition := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	must(client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: table,
		KeySchema: schema("Customer", "Number"),
		AttributeDefinitions: []types.AttributeDefinition{
			definition("Customer", types.ScalarAttributeTypeS),
			definition("Number", types.ScalarAttributeTypeN),
			definition("State", types.ScalarAttributeTypeS),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String("ByState"),
			KeySchema:  schema("State", "Number"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
		BillingMode: types.BillingModePayPerRequest,
	}))
	waiter := dynamodb.NewTableExistsWaiter(client, func(options *dynamodb.TableExistsWaiterOptions) {
		options.MinDelay, options.MaxDelay = 100*time.Millisecond, time.Second
	})
	described := must(waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: table}, waitMax))
	require(described.Table.GlobalSecondaryIndexes[0].IndexStatus == types.IndexStatusActive, "the index is not active")
}

func values(ctx context.Context, client *dynamodb.Client) {
	put := item{
		"Customer": &types.AttributeValueMemberS{Value: "types"},
		"Number":   &types.AttributeValueMemberN{Value: "1"},
		"S":        &types.AttributeValueMemberS{Value: "é\n\u2028\U0001f40d"},
		"N":        &types.AttributeValueMemberN{Value: "-1.25"},
		"B":        &types.AttributeValueMemberB{Value: []byte{0, 127, 255}},
		"SS":       &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"NS":       &types.AttributeValueMemberNS{Value: []string{"1", "2"}},
		"BS":       &types.AttributeValueMemberBS{Value: [][]byte{{0}, {255}}},
		"BOOL":     &types.AttributeValueMemberBOOL{Value: false},
		"NULL":     &types.AttributeValueMemberNULL{Value: true},
		"L":        &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: ""}}},
		"M":        &types.AttributeValueMemberM{Value: item{"inner": &types.AttributeValueMemberM{Value: item{}}}},
	}
	must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: put}))
	consistent := aws.Bool(true)
	found := must(client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: table, Key: key("types", 1), ConsistentRead: consistent,
	})).Item
	for _, value := range found {
		switch set := value.(type) {
		case *types.AttributeValueMemberSS:
			sort.Strings(set.Value)
		case *types.AttributeValueMemberNS:
			sort.Strings(set.Value)
		case *types.AttributeValueMemberBS:
			sort.Slice(set.Value, func(a, b int) bool { return bytes.Compare(set.Value[a], set.Value[b]) < 0 })
		}
	}
	require(reflect.DeepEqual(found, put), found)

	made := order(1)
	made.Customer, made.Total, made.Yes = "struct", 12.5, aws.Bool(true)
	made.Texts, made.Numbers, made.Binaries = []string{"x"}, []int{7}, [][]byte{{1}}
	made.List, made.Map = []string{"a", "b"}, map[string]string{"k": "v"}
	must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: must(attributevalue.MarshalMap(made))}))
	var read Order
	answer := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key("struct", 1)}))
	if err := attributevalue.UnmarshalMap(answer.Item, &read); err != nil {
		panic(err)
	}
	require(reflect.DeepEqual(read, made), read)
	absent := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key("types", 2)}))
	require(absent.Item == nil, "an absent item is there")
}

func conditions(ctx context.Context, client *dynamodb.Client) {
	absent := must(expression.NewBuilder().WithCondition(expression.AttributeNotExists(expression.Name("Customer"))).Build())
	one := must(attributevalue.MarshalMap(order(1)))
	failures := together(20, func() error {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           table,
			Item:                                one,
			ConditionExpression:                 absent.Condition(),
			ExpressionAttributeNames:            absent.Names(),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	require(len(failures) == 19, "one of 20 wins, not ", 20-len(failures))
	for _, err := range failures {
		var failed *types.ConditionalCheckFailedException
		require(errors.As(err, &failed), err)
		require(reflect.DeepEqual(failed.Item, one), failed.Item)
	}

	builder := expression.NewBuilder().
		WithUpdate(expression.Add(expression.Name("Total"), expression.Value(1)).
			Set(expression.Name("Seen"), expression.IfNotExists(expression.Name("Seen"), expression.Value(true)))).
		WithCondition(expression.Name("State").Equal(expression.Value("open")))
	update := must(builder.Build())
	failures = together(50, func() error {
		_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 table,
			Key:                       key("ann", 1),
			UpdateExpression:          update.Update(),
			ConditionExpression:       update.Condition(),
			ExpressionAttributeNames:  update.Names(),
			ExpressionAttributeValues: update.Values(),
		})
		return err
	})
	require(len(failures) == 0, failures)
	var read Order
	answer := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key("ann", 1)}))
	if err := attributevalue.UnmarshalMap(answer.Item, &read); err != nil {
		panic(err)
	}
	require(read.Total == 50, read.Total)
}

// together does the same several times at once, and gives what failed.
func together(times int, do func() error) []error {
	var all sync.WaitGroup
	var lock sync.Mutex
	var failures []error
	for range times {
		all.Go(func() {
			if err := do(); err != nil {
				lock.Lock()
				defer lock.Unlock()
				failures = append(failures, err)
			}
		})
	}
	all.Wait()
	return failures
}

func errorTypes(ctx context.Context, client *dynamodb.Client) {
	_, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("Absent"), Key: key("ann", 1)})
	var absent *types.ResourceNotFoundException
	require(errors.As(err, &absent), err)
	_, err = client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: item{"Customer": key("ann", 1)["Customer"]}})
	var refused smithy.APIError
	require(errors.As(err, &refused) && refused.ErrorCode() == "ValidationException", err)
	require(refused.ErrorMessage() == "The provided key element does not match the schema", refused.ErrorMessage())
}

func batches(ctx context.Context, client *dynamodb.Client) {
	for _, start := range []int{1, 26} {
		var requests []types.WriteRequest
		for number := start; number < start+25; number++ {
			made := order(number)
			made.Pad = bytes.Repeat([]byte("x"), 380_000)
			requests = append(requests, types.WriteRequest{
				PutRequest: &types.PutRequest{Item: must(attributevalue.MarshalMap(made))},
			})
		}
		for left := map[string][]types.WriteRequest{*table: requests}; len(left) > 0; {
			left = must(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})).UnprocessedItems
		}
	}
	var keys []item
	for number := 1; number <= 50; number++ {
		keys = append(keys, key("ann", number))
	}
	found, rounds := 0, 0
	for wanted := map[string]types.KeysAndAttributes{*table: {Keys: keys}}; len(wanted) > 0; rounds++ {
		answer := must(client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: wanted}))
		found += len(answer.Responses[*table])
		wanted = answer.UnprocessedKeys
	}
	require(found == 50 && rounds > 1, "found ", found, " in ", rounds)
}

func pages(ctx context.Context, client *dynamodb.Client) {
	open := expression.Key("State").Equal(expression.Value("open")).
		And(expression.Key("Number").Between(expression.Value(5), expression.Value(20)))
	built := must(expression.NewBuilder().WithKeyCondition(open).Build())
	query := dynamodb.NewQueryPaginator(client, &dynamodb.QueryInput{
		TableName:                 table,
		IndexName:                 aws.String("ByState"),
		KeyConditionExpression:    built.KeyCondition(),
		ExpressionAttributeNames:  built.Names(),
		ExpressionAttributeValues: built.Values(),
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(3),
	})
	var numbers []int
	for query.HasMorePages() {
		var orders []Order
		if err := attributevalue.UnmarshalListOfMaps(must(query.NextPage(ctx)).Items, &orders); err != nil {
			panic(err)
		}
		for _, order := range orders {
			numbers = append(numbers, order.Number)
		}
	}
	require(reflect.DeepEqual(numbers, []int{19, 17, 15, 13, 11, 9, 7, 5}), numbers)
	scan := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: table})
	found, rounds := 0, 0
	for ; scan.HasMorePages(); rounds++ {
		found += len(must(scan.NextPage(ctx)).Items)
	}
	require(found == 52 && rounds > 10, "found ", found, " in ", rounds)
}

func deletion(ctx context.Context, client *dynamodb.Client) {
	gone := must(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: table, Key: key("types", 1), ReturnValues: types.ReturnValueAllOld,
	}))
	require(gone.Attributes["BOOL"] != nil, gone.Attributes)
	must(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: table}))
	waiter := dynamodb.NewTableNotExistsWaiter(client, func(options *dynamodb.TableNotExistsWaiterOptions) {
		options.MinDelay, options.MaxDelay = 100*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: table}, waitMax); err != nil {
		panic(err)
	}
	require(len(must(client.ListTables(ctx, &dynamodb.ListTablesInput{})).TableNames) == 0, "tables are left")
}

func main() {
	ctx := context.Background()
	settings := must(config.LoadDefaultConfig(ctx))
	client := dynamodb.NewFromConfig(settings, func(options *dynamodb.Options) {
		options.BaseEndpoint = aws.String(os.Getenv("ENDPOINT"))
	})
	for _, step := range []struct {
		name string
		run  func(context.Context, *dynamodb.Client)
	}{
		{"tables", tables},
		{"values", values},
		{"conditions", conditions},
		{"errors", errorTypes},
		{"batches", batches},
		{"pages", pages},
		{"deletion", deletion},
	} {
		step.run(ctx, client)
		fmt.Println(step.name)
	}
}
