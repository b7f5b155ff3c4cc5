"""Workers: everything is done once, stages overlap, memory is bounded, stopping is clean."""

import threading
import time
from pathlib import Path

import pytest

from pic_uie.batch import workers
from pic_uie.batch.ledger import Outcome
from pic_uie.batch.mapping import Job
from pic_uie.batch.workers import Budget


def jobs(count):
    return [Job(Path(f"{number}"), Path(f"{number}.out")) for number in range(count)]


def done(job, reserve, check):
    return Outcome(str(job.source), str(job.output))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 500])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_every_job_is_done_once(count, width):
    outcomes = list(workers.run(jobs(count), done, workers=width, stop=threading.Event()))
    assert sorted(int(outcome.input) for outcome in outcomes) == list(range(count))
    assert threading.active_count() < 20


def test_jobs_are_taken_as_they_are_needed():
    """Ten thousand files are a stream: the queue ahead of the workers and the one behind them are bounded."""
    taken, finished, ahead = 0, 0, []

    def stream():
        nonlocal taken
        for job in jobs(3000):
            taken += 1
            ahead.append(taken - finished)
            yield job

    for _ in workers.run(stream(), done, workers=2, stop=threading.Event()):
        finished += 1
    assert finished == 3000
    assert max(ahead) <= 4 + 4 + 3 + 2  # both queues, the workers, one in each hand


def test_pictures_overlap():
    """One worker is inside its decoder while another is inside the engine: each waits for the other to be seen."""
    meeting = threading.Barrier(2, timeout=10)

    def meet(job, reserve, check):
        meeting.wait()
        return done(job, reserve, check)

    assert len(list(workers.run(jobs(2), meet, workers=2, stop=threading.Event()))) == 2


def test_stop_ends_between_stages_and_leaves_no_thread():
    stop, begun = threading.Event(), []

    def slow(job, reserve, check):
        begun.append(job)
        for _ in range(1000):
            check()
            time.sleep(0.005)
        return done(job, reserve, check)

    before = threading.active_count()
    threading.Timer(0.2, stop.set).start()
    assert list(workers.run(jobs(100), slow, workers=2, stop=stop)) == []
    assert len(begun) == 3
    time.sleep(0.05)
    assert threading.active_count() <= before


def test_a_bug_in_the_process_reaches_the_caller():
    def broken(job, reserve, check):
        raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        list(workers.run(jobs(50), broken, workers=2, stop=threading.Event()))


def test_leaving_early_stops_the_workers():
    run = workers.run(jobs(1000), done, workers=2, stop=threading.Event())
    next(run)
    run.close()
    assert not [t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]


def test_the_budget_bounds_the_pixels_under_way_and_lets_giants_pass_alone():
    budget, inside, seen = Budget(100), [], []
    lock = threading.Lock()

    def visit(pixels):
        with budget.reserve(pixels):
            with lock:
                inside.append(pixels)
                seen.append(list(inside))
            time.sleep(0.002)
            with lock:
                inside.remove(pixels)

    sizes = [10, 30, 60, 100, 250, 5, 45, 80] * 5
    threads = [threading.Thread(target=visit, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == len(sizes)
    assert all(sum(now) <= 100 or len(now) == 1 for now in seen)
    assert any(len(now) > 1 for now in seen)


def test_an_error_gives_the_pixels_back():
    budget = Budget(10)
    with pytest.raises(RuntimeError), budget.reserve(10):
        raise RuntimeError
    with budget.reserve(10):
        pass
