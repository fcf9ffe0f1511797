"""The OpenAPI 3.1 document of the test kit's HTTP API, generated from the table of operations."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from msgspec.json import schema_components

from app.foundation.json_types import JsonObject
from app.testkit.operations import OPERATIONS, Operation
from app.testkit.replies import Refusal
from engine.fields.field import Field

#: Where all paths begin.
ROOT = "/api/testkit"
DOCUMENT_PATH = "/openapi.json"
_REFERENCE = "#/components/schemas/{name}"
#: The version of the API; a change that breaks clients counts up the first number.
API_VERSION = "1.0.0"
#: Status -> its meaning. Every operation may be answered with these.
_REFUSALS = {
    "400": "A parameter is missing, unknown or not allowed.",
    "404": "There is nothing at this path.",
    "409": "Contradictory parameters, not possible now (`refused`), or a check failed (`expectation`).",
}


def openapi_document() -> JsonObject:
    """Return the document."""
    replies = dict.fromkeys((Refusal, *(operation.reply for operation in OPERATIONS)))
    _, schemas = schema_components(replies, ref_template=_REFERENCE)
    for schema in schemas.values():
        schema["description"] = inspect.cleandoc(schema["description"])
        schema["required"] = [*schema["properties"]]  # defaults are sent, too
    paths: dict[str, JsonObject] = {}
    for operation in OPERATIONS:
        paths.setdefault(ROOT + operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "GlassMQ test kit",
            "version": API_VERSION,
            "description": "A RocketMQ broker for tests in any language: `glassmq serve --ephemeral`.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(operation: Operation) -> JsonObject:
    parameters = [_parameter(part, "path") for part in operation.parts]
    if not operation.has_body:
        parameters += [_parameter(one, "query") for one in operation.fields]
    described: JsonObject = {
        "operationId": _operation_id(operation),
        "summary": operation.summary,
        "responses": {
            "200": _reply("Carried out.", operation.reply),
            **{status: _reply(text, Refusal) for status, text in _REFUSALS.items()},
        },
    }
    if parameters:
        described["parameters"] = parameters
    if operation.has_body:
        body = _object_schema(operation.fields)
        described["requestBody"] = {"required": "required" in body, "content": {"application/json": {"schema": body}}}
    return described


def _operation_id(operation: Operation) -> str:
    words = [word for word in operation.path.replace("-", "/").split("/") if word and not word.startswith("{")]
    of_one = "_one" if operation.path.endswith("}") else ""
    return "_".join((operation.method.lower(), *words)) + of_one


def _reply(text: str, reply: type) -> JsonObject:
    schema = {"$ref": _REFERENCE.format(name=reply.__name__)}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _parameter(one: Field, place: str) -> JsonObject:
    schema = _field_schema(one)
    return {"name": one.name, "in": place, "required": one.default is ..., "schema": schema}


def _object_schema(table: Iterable[Field]) -> JsonObject:
    properties = {one.name: _nullable(one) for one in table}
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    required: list[Any] = [one.name for one in table if one.default is ...]
    if required:
        schema["required"] = required
    return schema


def _nullable(one: Field) -> JsonObject:
    """Return the schema of a field in a body, where null counts as absent."""
    schema = _field_schema(one)
    if one.default is not ...:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*one.allowed, None]
    return schema


def _field_schema(one: Field) -> JsonObject:
    """Return the JSON Schema of what :meth:`Field.read` accepts."""
    schema: JsonObject
    match one.kind:
        case "integer" | "number":
            low, high = (int(bound) if bound == int(bound) else bound for bound in (one.low, one.high))
            schema = {"type": one.kind, "minimum": low, "maximum": high}
        case "switch":
            schema = {"type": "boolean"}
        case "choice":
            schema = {"type": "string", "enum": [*one.allowed]}
        case "text":
            schema = {"type": "string", "minLength": int(one.low), "maxLength": int(one.high)}
        case "pattern":
            schema = {"type": "string", "maxLength": int(one.high), "pattern": r"^[^*]*\*?$"}
        case "names":
            item: JsonObject = {"type": "string", "minLength": 1, "maxLength": one.each}
            schema = {"type": "array", "minItems": int(one.low), "maxItems": int(one.high), "items": item}
        case "texts":
            schema = {
                "type": "object",
                "maxProperties": int(one.high),
                "propertyNames": {"minLength": 1, "maxLength": one.each},
                "additionalProperties": {"type": "string", "maxLength": one.each},
            }
        case _:
            raise AssertionError(f"{one.name}: no operation has a field of kind {one.kind}")
    if one.default not in (..., None):
        schema["default"] = one.default
    return schema
