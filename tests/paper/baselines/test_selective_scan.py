import pytest

torch = pytest.importorskip("torch")

from pic_uie.paper.baselines.selective_scan import (  # noqa: E402
    CHUNK,
    Scan,
    SpatialScan,
    four_ways,
    four_ways_back,
    selective_scan,
)


def slow_scan(x, delta, a, b, c, d):
    """The recurrence as its papers write it, one step at a time."""
    state = torch.zeros(*x.shape[:3], a.shape[-1], dtype=x.dtype)
    result = torch.empty_like(x)
    for t in range(x.shape[-1]):
        entry = (delta[..., t] * x[..., t])[..., None] * b[:, :, None, :, t]
        state = torch.exp(delta[..., t, None] * a) * state + entry
        result[..., t] = (state * c[:, :, None, :, t]).sum(dim=-1) + d * x[..., t]
    return result


def case(length, largest_step=5.0, seed=0):
    torch.manual_seed(seed)
    batch, groups, width, states = 2, 3, 4, 5
    kind = {"dtype": torch.float64}
    x, delta = torch.randn(batch, groups, width, length, **kind), torch.rand(batch, groups, width, length, **kind)
    a = -16 * torch.rand(groups, width, states, **kind)
    b, c = torch.randn(2, batch, groups, states, length, **kind)
    return [x, delta * largest_step, a, b, c, torch.randn(groups, width, **kind)]


@pytest.mark.parametrize("length", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_the_scan_is_the_recurrence(length):
    arguments = case(length)
    torch.testing.assert_close(selective_scan(*arguments), slow_scan(*arguments), rtol=1e-12, atol=1e-12)


def test_long_steps_forget_and_nothing_overflows():
    arguments = [tensor.float() for tensor in case(50, largest_step=1e4)]
    result = selective_scan(*arguments)
    assert torch.isfinite(result).all()
    torch.testing.assert_close(result, slow_scan(*arguments), rtol=1e-4, atol=1e-2)


def test_gradients_are_those_of_the_recurrence():
    arguments = [tensor.requires_grad_() for tensor in case(CHUNK + 3)]
    weights = torch.randn(2, 3, 4, CHUNK + 3, dtype=torch.float64)
    fast = torch.autograd.grad((selective_scan(*arguments) * weights).sum(), arguments)
    slow = torch.autograd.grad((slow_scan(*arguments) * weights).sum(), arguments)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_no_step_sees_what_comes_later():
    arguments = case(40)
    before = selective_scan(*arguments)
    arguments[0][..., 25:] += 1.0
    after = selective_scan(*arguments)
    assert torch.equal(before[..., :25], after[..., :25])
    assert not torch.equal(before[..., 25:], after[..., 25:])


def test_four_ways_there_and_back_is_four_times_the_map():
    features = torch.rand(2, 3, 5, 7)
    torch.testing.assert_close(four_ways_back(four_ways(features), 5, 7), 4 * features)


def test_a_spatial_scan_sees_the_whole_map():
    torch.manual_seed(0)
    scan = SpatialScan(8).double()
    features = torch.randn(1, 8, 6, 5, dtype=torch.float64, requires_grad=True)
    scan(features)[0, :, 3, 2].sum().backward()
    assert (features.grad[0].abs().sum(dim=0) > 0).all()


def test_directions_may_share_their_rates():
    torch.manual_seed(0)
    scan = Scan(6, 2, 3, shared=True)
    assert scan.log_rates.shape == (1, 6, 16)
    assert scan(torch.rand(2, 2, 6, 20)).shape == (2, 2, 6, 20)
