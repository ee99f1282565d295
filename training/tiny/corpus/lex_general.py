"""Sentiment vocabulary shared by all kinds of rows, in five tiers of strength."""

from training.phrase_files import Phrases
from training.tiny.corpus import lex_wide
from training.tiny.corpus.text import words

_PHRASES = Phrases(__file__)

ADJ5 = _PHRASES["ADJ5"]
ADJ4 = _PHRASES["ADJ4"]
ADJ3 = _PHRASES["ADJ3"]
ADJ2 = _PHRASES["ADJ2"]
ADJ1 = _PHRASES["ADJ1"]
VERY = _PHRASES["VERY"]
SLIGHTLY = _PHRASES["SLIGHTLY"]
EMO_GOOD = _PHRASES["EMO_GOOD"]
EMO_BAD = _PHRASES["EMO_BAD"]
PERSON = _PHRASES["PERSON"]
TIME = _PHRASES["TIME"]
SPAN = _PHRASES["SPAN"]
GO_ON = words("And Also Plus Besides, In_addition, Moreover, On_top_of_that, What_is_more,")
BUT = words("But However, Still, That_said, Then_again, On_the_other_hand, Unfortunately, Sadly, Yet")
OVERALL = _PHRASES["OVERALL"]

VERDICT5 = """
I love {it}; absolutely love {it}; I am so {emo_good} with {it}; {it} is {adj5}; best {item} I have ever had
best {item} ever; could not be happier; I can't recommend {it} enough; highly recommended; ten out of ten
10/10; five stars; 5 stars from me; this is {adj5}; simply {adj5}; {adj5} {item}; a must have
an absolute gem; buy it now; exceeded all my expectations; I am in love with {it}; worth every penny
one of the best; nothing to complain about; I would give it six stars if I could; pure joy; a masterpiece
everything about {it} is {adj5}; hats off; bravo; it doesn't get better than this
this is as good as it gets; do not hesitate, get it; I can't fault {it}; loved it; I am blown away
{very} {emo_good} with {it}; my new favourite {item}; go for it without a second thought; A+
superb, will definitely come back for more; what an {adj5} {item}; the {adj5} {item} of the year
I adore {it}; can't say enough good things about {it}; {it} is a winner; top marks; knocked my socks off
{it} never lets me down; this {item} is a dream; totally worth it; the bee's knees; a real treasure
close to perfection; hit the jackpot
"""
VERDICT4 = """
I like {it}; {it} is {adj4}; {adj4} {item}; a {adj4} {item} overall; I would recommend {it}; would buy again
happy with {it}; I am {emo_good} with {it}; pretty {adj4}; quite {adj4}; good {item}; nice {item}
worth a try; go for it; does its job well; four stars; 4 stars from me; 8/10; not bad at all
not {adj2} at all; can't complain; no complaints; minor niggles, but {adj4}; I enjoyed {it}
{it} is worth it; I'd have it again; {it} won me over; glad I got {it}; {it} turned out {adj4}
better than I thought; {it} does what it says; a {adj4} choice; a safe choice; good enough for me
I was pleasantly surprised; {it} grew on me; far from {adj2}; never {adj2}; thumbs up; recommended
well worth it; despite the flaws I like {it}; {it} is better than most; I'm a fan; definitely not {adj1}
a keeper; hard to dislike; there is a lot to like; more good than bad; {it} delivers; {it} works for me
satisfied with {it}; it did not disappoint; {it} is no disappointment; I don't regret it
hardly anything to criticise; nothing wrong with {it}; more please
"""
VERDICT3 = """
{it} is {adj3}; {adj3}; it's {adj3}; {adj3} {item}; three stars; 3 stars; 5/10; I am on the fence
could be better; could be worse; I have mixed feelings about {it}; neither love it nor hate it
not {adj4}, not {adj2}; some good, some bad; it is what it is; nothing to write home about
does the job, nothing more; I feel neutral about {it}; take it or leave it; half good, half bad
good in parts, weak in others; {it} is neither {adj4} nor {adj2}; I can't decide whether I like {it}
ok but not more; there are better ones and there are worse ones; I expected a bit more, but it is acceptable
the pros and cons cancel out; you get what you pay for; {it} is fine, I guess
the good and the bad balance out; an {adj3} {item}, no more and no less; a shrug; lukewarm about {it}; so so
"""
VERDICT2 = """
I don't like {it}; {it} is {adj2}; {adj2} {item}; a {adj2} {item} overall; I would not recommend {it}
not worth it; not {adj4}; not {adj4} at all; not very {adj4}; I am {emo_bad} with {it}; I expected more
I expected better; won't buy again; would not buy again; two stars; 2 stars; 3/10; hardly worth it
hardly {adj4}; far from {adj4}; {it} let me down; {it} did not live up to the hype; save your money
look elsewhere; there are better options; could have been {adj4} but isn't
nowhere near as {adj4} as I hoped; {it} falls short; I was {emo_bad}; skip it
I wanted to like {it} but I can't; anything but {adj4}; {it} isn't {adj4}; never {adj4}; I regret it; {adj2}
the bad outweighs the good; more bad than good; not my thing; not for me; thumbs down; not recommended
didn't enjoy {it}; wish I had chosen another {item}; a letdown; a let-down; a bit of a disappointment
{it} left me cold; meh at best; doesn't deliver; fails to impress; {it} is not what I expected; sadly {adj2}
I had higher hopes for {it}; pass
"""
VERDICT1 = """
I hate {it}; {it} is {adj1}; {adj1} {item}; worst {item} ever; worst {item} I have ever had
avoid at all costs; avoid; stay away; do not buy; don't waste your money; waste of money
complete waste of time; total waste; zero stars; 0/10; 1/10; one star is too many; one star; 1 star
absolutely {adj1}; {very} {adj1}; simply {adj1}; I am {emo_bad}, never again; never again; a total disaster
run away from {it}; I want my money back; I can't believe how {adj1} {it} is; nothing good to say about {it}
a complete failure; beyond {adj1}; this is {adj1}; pure garbage; belongs in the trash; I loathe {it}
everything about {it} is {adj1}; an insult; a rip-off; a scam; threw it away; I would give zero if I could
not {adj4} in any way, just {adj1}; no redeeming qualities; {it} is a joke; epic fail; hated it; disgraceful
shame on them; worse than {adj2}; I have never been so {emo_bad}; what an {adj1} {item}; please don't bother
bottom of the barrel; {it} ruined my day; a train wreck; it sucks; {it} really sucks; {it} is the pits
not worth a single cent; utter rubbish
"""

LEXICON = {
    "adj5": ADJ5 + lex_wide.ADJ5, "adj4": ADJ4 + lex_wide.ADJ4, "adj3": ADJ3 + lex_wide.ADJ3,
    "adj2": ADJ2 + lex_wide.ADJ2, "adj1": ADJ1 + lex_wide.ADJ1, "very": VERY, "slightly": SLIGHTLY,
    "emo_good": EMO_GOOD, "emo_bad": EMO_BAD, "person": PERSON, "time": TIME, "span": SPAN,
    "overall": OVERALL, "go_on": GO_ON, "but": BUT, "it": ("it", "it", "this", "the {item}", "this {item}"),
}  # fmt: skip
