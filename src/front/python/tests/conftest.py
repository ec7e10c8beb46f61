"""The tests' own cache: what a user's holds, converted with other options, changes the command's answers."""

import os
import tempfile

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FOLDSYM_CACHE"] = folder
        yield
