import pytest

from helpers.water import write_pairs


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """Ten synthetic pairs with depth, 176 pixels wide, in folders as `pic-uie train` reads them."""
    return write_pairs(tmp_path_factory.mktemp("water"), 10, 176, 176, depth=True)
