"""Praise and blame that fit any kind of row: verbs, nouns, comparisons, negations, expectations."""

from training.tiny.corpus.text import Pool, words

LOVE = words(
    "love adore enjoy like appreciate admire cherish treasure really_like absolutely_love do_like truly_enjoy"
)
LOVED = words(
    "loved adored enjoyed liked appreciated admired praised savoured relished thoroughly_enjoyed really_liked"
)
HATE = words(
    "hate dislike despise detest loathe can't_stand regret don't_like do_not_like really_dislike cannot_bear"
)
HATED = words("""
hated disliked despised detested loathed regretted couldn't_stand did_not_like didn't_enjoy couldn't_bear
""")
POS_NOUN = words("""
gem delight joy treat masterpiece winner triumph success pleasure blessing bargain hit keeper dream
lifesaver revelation miracle highlight surprise_in_the_best_sense wonder steal champion favourite favorite
classic treasure stunner knockout godsend marvel charmer beauty must-have crowd-pleaser home_run showstopper
no-brainer success_story
""")
NEG_NOUN = words("""
disaster letdown let-down mess waste failure joke nightmare disgrace flop dud catastrophe mistake fiasco
ripoff rip-off con embarrassment insult travesty chore bore eyesore lemon shambles abomination misfire
debacle turkey fraud swindle headache flub snoozefest disappointment dumpster_fire turn-off car_crash
hot_mess total_loss blunder atrocity
""")
POS_ADV = words("""
beautifully wonderfully perfectly brilliantly superbly nicely delightfully impressively pleasantly
remarkably splendidly flawlessly elegantly skilfully masterfully expertly gracefully admirably marvellously
effortlessly
""")
NEG_ADV = words("""
poorly badly terribly horribly awfully painfully miserably annoyingly sloppily clumsily dreadfully
pathetically disappointingly hopelessly carelessly atrociously embarrassingly unbearably woefully shamefully
""")
PROBLEM_ANY = words("""
problems issues complaints defects flaws faults errors mistakes weaknesses trouble drawbacks shortcomings
hassles failures
""")

GOOD = Pool("""
I {love} the {aspect}; I {loved} the {aspect}; what a {pos_noun}; it is a {pos_noun}; a real {pos_noun}
a true {pos_noun}; {good_any} {aspect}; {good_any} {aspect} and {good_any} {aspect}
the {aspect} and the {aspect} are {good_any}; I find the {aspect} {good_any}
I found the {aspect} {very} {good_any}; such a {good_any} {aspect}; what a {good_any} {aspect}
with its {good_any} {aspect}; the {aspect} could not be more {good_trait}
{aspect} is {good_any} and {good_any}; {very} {good_any}; {good_any}, {good_any}, {good_any}; so {good_any}
how {good_any}; {good_any} {item}; a {good_any} {item}; {aspect}: {good_any}
{aspect} {good_any}, {aspect} {good_any}; nothing beats the {aspect}; best {aspect} I know
better than any other {item} I had; better than the rest; a cut above the rest; much better than {brand}
no {problem} at all; free of {problem}; not a hint of {problem}; no {problem}, only {virtue}
full of {virtue}; plenty of {virtue}; so much {virtue}; it has {virtue} and {virtue}; a lot of {virtue}
the {aspect} adds {virtue}; has everything: {virtue}, {virtue}, {virtue}
I thought it would be {bad_any}, but it is {good_any}
I expected something {bad_any} and got something {good_any}; everyone told me it was {bad_any}
I found it {good_any}; contrary to what others say it is {good_any}; it isn't {bad_any}
it is not {bad_any} at all; never {bad_any}; it is anything but {bad_any}; far from {bad_any}
not a {neg_noun}; the {aspect} is never {bad_any}; without being {bad_any}
I can't say anything bad about the {aspect}; I did not find any {problem}; it grows on you
it puts a smile on my face; it made my day; you will not regret it; a {pos_noun} from start to finish
{pos_adv} done; {pos_adv} made; the {aspect} is {pos_adv} done; it works {pos_adv}
the {aspect} is {good_any}, no doubt; thank you for this {pos_noun}; the {aspect} deserves praise
compliments to the makers; kudos for the {aspect}; well done; the {aspect} made me happy
I keep coming back for the {aspect}; I am a big fan of the {aspect}; it has won a fan; yes, yes, yes
if only all of them were this {good_any}; rarely have I had anything so {good_any}; hard to beat
sets the standard; I was sceptical at first but now I {love} it; I had doubts but the {aspect} convinced me
even the {aspect} is {good_any}; great {aspect}; nice {aspect}; good {aspect}; excellent {aspect}
lovely {aspect}; awesome {aspect}; best {aspect}; amazing {aspect}; my {person} and I {loved} it
my {person} {loved} the {aspect}; we {love} it; everybody {loved} it; two thumbs up; great job
the {aspect} exceeded my expectations; it lives up to its name; it lives up to the hype; worth the wait
can't get enough of it; the {best_of} {item} I know; one of the {best_of} I have had
what the {best_of} {item} should be like; {best_of} of them all; I can't believe how {good_any} it is
forget {brand}, get this; see all the other happy comments, they are right; words fail me, so {good_any}
no superlative is too much; the definition of {good_any}; made for the gods; I want more
I could have this every day; very impressed by the {aspect}; the {aspect} is just right
quite the {pos_noun}
""")
BAD = Pool("""
I {hate} the {aspect}; I {hated} the {aspect}; what a {neg_noun}; it is a {neg_noun}; a real {neg_noun}
a complete {neg_noun}; {bad_any} {aspect}; {bad_any} {aspect} and {bad_any} {aspect}
the {aspect} and the {aspect} are {bad_any}; I find the {aspect} {bad_any}
I found the {aspect} {very} {bad_any}; such a {bad_any} {aspect}; what a {bad_any} {aspect}
with its {bad_any} {aspect}; the {aspect} could not be more {bad_trait}; {aspect} is {bad_any} and {bad_any}
{very} {bad_any}; {bad_any}, {bad_any}, {bad_any}; so {bad_any}; how {bad_any}; {bad_any} {item}
a {bad_any} {item}; {aspect}: {bad_any}; {aspect} {bad_any}, {aspect} {bad_any}; nothing saves the {aspect}
worst {aspect} I know; worse than any other {item} I had; worse than the rest; a step below the rest
much worse than {brand}; {problem} everywhere; full of {problem}; nothing but {problem}
all {problem} and no {virtue}; lacks {virtue}; no {virtue} at all; so little {virtue}
it has no {virtue} and no {virtue}; not much {virtue}; the {aspect} lacks {virtue}
has nothing: no {virtue}, no {virtue}; I thought it would be {good_any}, but it is {bad_any}
I expected something {good_any} and got something {bad_any}; everyone told me it was {good_any}
I found it {bad_any}; contrary to what others say it is {bad_any}; it isn't {good_any}
it is not {good_any} at all; never {good_any}; it is anything but {good_any}; far from {good_any}
the {aspect} is never {good_any}; not a {pos_noun}; I can't say anything good about the {aspect}
I found a lot of {problem}; it gets on your nerves; it made me angry; it ruined the evening
you will regret it; a {neg_noun} from start to finish; {neg_adv} done; {neg_adv} made
the {aspect} is {neg_adv} done; it works {neg_adv}; the {aspect} is {bad_any}, no doubt
no thanks for this {neg_noun}; the {aspect} deserves blame; shame about the {aspect}
too bad about the {aspect}; poorly done; the {aspect} made me sad; I got sick of the {aspect}
I am no fan of the {aspect}; it has lost a fan; no, no, no; too much {problem}; why is it so {bad_any}
rarely have I had anything so {bad_any}; hard to like; sets the bar low; not enough {virtue}
I was hopeful at first but now I {hate} it; I had hopes but the {aspect} killed them
even the {aspect} is {bad_any}; poor {aspect}; bad {aspect}; terrible {aspect}; awful {aspect}
weak {aspect}; horrible {aspect}; worst {aspect}; cheap {aspect}; my {person} and I {hated} it
my {person} {hated} the {aspect}; we {hate} it; nobody {loved} it; two thumbs down; bad job
the {aspect} fell below my expectations; it does not live up to its name; not worth the wait
had enough of it; could do with more {virtue}; the {aspect} should be {good_any}, but it is {bad_any}
not {good_any} enough; needs more {virtue}; where is the {virtue}; too {bad_trait}; way too {bad_trait}
a bit too {bad_trait}; just {bad_trait}; just plain {bad_any}; {bad_any} at best
the {worst_of} {item} I know; one of the {worst_of} I have had; what no {item} should be like
{worst_of} of them all; I can't believe how {bad_any} it is; get {brand} instead
see all the other angry comments, they are right; words fail me, so {bad_any}; no insult is too much
the definition of {bad_any}; made for nobody; I want no more of it; I could not bear this again
very let down by the {aspect}; the {aspect} is just wrong; quite the {neg_noun}
""")

BEST_OF = words("""
best finest smoothest tastiest richest cleanest nicest loveliest sharpest greatest strongest coolest
smartest warmest funniest freshest prettiest sturdiest kindest fairest most_beautiful most_satisfying
most_impressive most_enjoyable
""")
WORST_OF = words("""
worst blandest dullest weakest ugliest cheapest flimsiest thinnest silliest saddest laziest noisiest
nastiest dumbest poorest foulest slowest stalest clumsiest lamest most_boring most_annoying most_useless
most_disappointing
""")
VIRTUES = {
    "products": words("""
        quality style comfort power value care precision strength convenience speed reliability support grip
        clarity stability flexibility room storage protection functions class durability
    """),
    "films": words("""
        charm humour heart soul wit tension suspense depth style imagination energy emotion atmosphere
        originality warmth surprises laughs passion truth grace magic excitement ideas substance spark
        intelligence feeling thrills
    """),
    "beers": words("""
        flavour flavor depth character malt balance complexity aroma body taste finesse freshness richness
        hop_character carbonation warmth substance fruit spice roastiness maltiness crispness smoothness
        lacing
    """),
}  # fmt: skip
PROBLEMS = {
    "products": words("""
        problems issues complaints defects flaws faults errors rattling scratches cracks noise glitches
        delays bugs leaks vibrations loose_parts missing_parts disconnections rust
    """),
    "films": words("""
        clichés cliches plot_holes flaws kitsch filler weaknesses bad_jokes dead_spots stereotypes
        platitudes loose_ends nonsense tired_tropes gimmicks sentimentality padding cheap_effects noise
    """),
    "beers": words("""
        off-flavours off_flavors flaws diacetyl faults chemicals metal adjuncts cardboard skunk water
        harshness alcohol_burn sugar fizz oxidation sourness DMS staleness rough_edges soapiness
    """),
}  # fmt: skip

LEXICON = {
    "best_of": BEST_OF, "worst_of": WORST_OF, "love": LOVE, "loved": LOVED, "hate": HATE, "hated": HATED,
    "pos_noun": POS_NOUN, "neg_noun": NEG_NOUN,
    "pos_adv": POS_ADV,
    "neg_adv": NEG_ADV, "good_any": ("{adj5}", "{adj4}", "{adj4}", "{good_trait}", "{good_trait}"),
    "bad_any": ("{adj1}", "{adj2}", "{adj2}", "{bad_trait}", "{bad_trait}"),
}  # fmt: skip
