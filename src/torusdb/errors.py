"""Every error the service answers with: one class each, raised in the core, put on the wire in one place.

The class name is the service's error code. The namespace is the part of `__type` before the `#`; it differs by
the layer of the service that refused the request, and clients that read the wire rather than an SDK see it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

CORAL = "com.amazon.coral.service"
CORAL_VALIDATE = "com.amazon.coral.validate"
DYNAMODB = "com.amazonaws.dynamodb.v20120810"


MESSAGE_CHARACTERS_MAX = 1024 * 1024
"""A request of 16 MB could have all of it told back, ten times over. The service's own bound is not known; items of
400 KB, and all that is shorter, are told whole."""


class ServiceError(Exception):
    """An answer that refuses a request. `members` are the further members of the error's shape, such as `Item`."""

    namespace: ClassVar[str] = DYNAMODB
    status: ClassVar[int] = 400
    message_member: ClassVar[str] = "message"

    def __init__(self, message: str | None = None, **members: Any) -> None:
        if message is not None and len(message) > MESSAGE_CHARACTERS_MAX:
            message = message[:MESSAGE_CHARACTERS_MAX]
        super().__init__(message)
        self.message = message
        self.members = members

    @property
    def code(self) -> str:
        return type(self).__name__

    @property
    def response(self) -> dict[str, Any]:
        """As botocore's exceptions have it, so that programs can treat both alike."""
        return {"Error": {"Code": self.code, "Message": self.message or ""}, **self.members}

    def body(self) -> dict[str, Any]:
        """The JSON body of the answer."""
        body: dict[str, Any] = {"__type": f"{self.namespace}#{self.code}"}
        if self.message is not None:
            body[self.message_member] = self.message
        body.update(self.members)
        return body

    def to_json(self) -> bytes:
        return msgspec.json.encode(self.body())


class ValidationException(ServiceError):
    namespace = CORAL_VALIDATE


class RequestFault(ValidationException):
    """A refusal that PutItem and UpdateItem announce as `1 validation error detected: …` while every other operation
    gives it bare (measured on the service in eu-west-2; regions differ). On the wire it is a ValidationException."""

    @property
    def code(self) -> str:
        return ValidationException.__name__

    def announced(self) -> ValidationException:
        return ValidationException(f"1 validation error detected: {self.message}")


class EmptyKeyValue(ValidationException):
    """A key attribute is empty. A transaction is refused for it as a whole, where other faults of a key cancel it with
    a reason (measured). On the wire it is a ValidationException."""

    @property
    def code(self) -> str:
        return ValidationException.__name__


class SerializationException(ServiceError):
    namespace = CORAL
    message_member = "Message"


class UnknownOperationException(ServiceError):
    namespace = CORAL


class AccessDeniedException(ServiceError):
    namespace = CORAL
    message_member = "Message"  # seen on the wire: aws/aws-sdk-php#1292, sebdah/dynamic-dynamodb#321


class ExpiredTokenException(ServiceError):
    namespace = CORAL


class MissingAuthenticationTokenException(ServiceError):
    namespace = CORAL


class IncompleteSignatureException(ServiceError):
    namespace = CORAL


class InvalidSignatureException(ServiceError):
    namespace = CORAL


class UnrecognizedClientException(ServiceError):
    namespace = CORAL


class InternalServerError(ServiceError):
    status = 500


class ConditionalCheckFailedException(ServiceError):
    pass


class DuplicateItemException(ServiceError):
    pass


class ExpiredIteratorException(ServiceError):
    pass


class IdempotentParameterMismatchException(ServiceError):
    message_member = "Message"


class ItemCollectionSizeLimitExceededException(ServiceError):
    pass


class LimitExceededException(ServiceError):
    pass


class PolicyNotFoundException(ServiceError):
    pass


class ProvisionedThroughputExceededException(ServiceError):
    pass


class ResourceInUseException(ServiceError):
    pass


class ResourceNotFoundException(ServiceError):
    pass


class TransactionCanceledException(ServiceError):
    """`CancellationReasons`, among its members, has one entry for each member of the transaction."""

    message_member = "Message"


class TrimmedDataAccessException(ServiceError):
    pass
