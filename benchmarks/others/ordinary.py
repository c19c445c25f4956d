"""Shape checks as one writes them with FastAPI and NumPy: the request parsed and validated, the shape computed."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import FastAPI, Query
from pydantic import BaseModel


class Request(BaseModel):
    inputs: list[list[int]]


class Answer(BaseModel):
    compatible: bool
    shape: list[int] | None = None
    message: str | None = None


app = FastAPI()


@app.post("/v1/check")
async def check(request: Request) -> Answer:
    try:
        return Answer(compatible=True, shape=list(np.broadcast_shapes(*map(tuple, request.inputs))))
    except ValueError as error:
        return Answer(compatible=False, message=str(error))


@app.get("/v1/check")
async def check_query(texts: Annotated[list[str], Query(alias="input")]) -> Answer:
    return await check(Request(inputs=[[int(size) for size in text.split("x")] for text in texts]))
