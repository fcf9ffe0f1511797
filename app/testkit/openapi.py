"""The OpenAPI 3.1 document of the test kit's HTTP API, generated from the table of operations."""

from __future__ import annotations

import inspect

from msgspec.json import schema_components

from app.foundation.json_types import JsonObject
from app.testkit.operations import OPERATIONS, AnyOperation
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
    types = (Refusal, *(one for operation in OPERATIONS for one in (operation.request, operation.reply)))
    _, schemas = schema_components(dict.fromkeys(types), ref_template=_REFERENCE)
    requests = {name: schemas.pop(name) for name in dict.fromkeys(one.request.__name__ for one in OPERATIONS)}
    for schema in schemas.values():
        schema["description"] = inspect.cleandoc(schema["description"])
        schema["required"] = [*schema.get("properties", ())]  # defaults are sent, too
    paths: dict[str, JsonObject] = {}
    for operation in OPERATIONS:
        described = _operation(operation, requests[operation.request.__name__])
        paths.setdefault(ROOT + operation.path, {})[operation.method.lower()] = described
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


def _operation(operation: AnyOperation, request: JsonObject) -> JsonObject:
    properties: JsonObject = request["properties"]
    parameters = [_parameter(one, properties, "path") for one in operation.parts]
    if not operation.has_body:
        parameters += [_parameter(one, properties, "query") for one in operation.fields]
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
        required = [one.name for one in operation.fields if one.default is ...]
        nullable = {one.name: _or_null(one, properties[one.name]) for one in operation.fields}
        body = {**request, "properties": nullable, "required": required}
        described["requestBody"] = {"required": bool(required), "content": {"application/json": {"schema": body}}}
    return described


def _operation_id(operation: AnyOperation) -> str:
    words = [word for word in operation.path.replace("-", "/").split("/") if word and not word.startswith("{")]
    of_one = "_one" if operation.path.endswith("}") else ""
    return "_".join((operation.method.lower(), *words)) + of_one


def _reply(text: str, reply: type) -> JsonObject:
    schema = {"$ref": _REFERENCE.format(name=reply.__name__)}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _parameter(one: Field, properties: JsonObject, place: str) -> JsonObject:
    """Return a parameter of path or query string, where nothing is null."""
    schema: JsonObject = {**properties[one.name]}
    if "anyOf" in schema:
        schema = schema["anyOf"][0]
    return {"name": one.name, "in": place, "required": one.default is ..., "schema": schema}


def _or_null(one: Field, schema: JsonObject) -> JsonObject:
    """Return the schema of a field in a body, where null counts as absent."""
    if one.default in (..., None):
        return schema
    return {"anyOf": [schema, {"type": "null"}]}
