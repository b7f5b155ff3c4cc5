"""Systems of the paper's tables as small as tests can have them."""

from pic_uie.paper.baselines.ss_uie import SsUie


class SmallSsUie(SsUie):
    """A sixteenth of the units, which are all alike: a step of the whole takes a minute and 10 GB."""

    def __init__(self):
        super().__init__(memories=1, units=1)
