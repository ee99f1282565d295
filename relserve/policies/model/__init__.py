"""One model of a step: what it computes, how long that takes, and how both are learnt."""
