import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """The pictures are small: more threads only wait for each other."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
