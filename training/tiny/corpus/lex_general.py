"""Sentiment vocabulary shared by all kinds of rows, in five tiers of strength."""

from training.tiny.corpus import lex_wide
from training.tiny.corpus.text import lines, words

ADJ5 = words("""
amazing awesome excellent outstanding superb fantastic wonderful brilliant perfect incredible phenomenal
exceptional terrific marvellous marvelous magnificent fabulous splendid stunning flawless impeccable
remarkable extraordinary spectacular sensational sublime stellar first-rate top-notch world-class
first-class unbeatable unrivalled matchless superior masterful gorgeous glorious breathtaking delightful
mind-blowing astonishing exquisite divine heavenly best_in_class second_to_none out_of_this_world spot_on
to_die_for epic legendary killer immaculate dazzling priceless absolutely_great really_excellent
unbelievably_good insanely_good wow bang_on simply_the_best tremendous grand
""")
ADJ4 = words("""
good nice great decent solid pleasant enjoyable satisfying likeable likable fine lovely pleasing impressive
reliable worthwhile commendable charming neat cool sweet useful helpful handy capable competent attractive
agreeable respectable admirable appealing effective dependable strong smooth clever elegant refreshing
well-made well-done above_average quite_good pretty_good very_good better_than_expected worth_it
worth_having rewarding praiseworthy favourable positive thoughtful polished tidy welcome fun friendly
trustworthy recommendable satisfactory convincing interesting beautiful
""")
ADJ3 = words("""
okay ok average so-so middling passable mediocre ordinary fair adequate acceptable unremarkable tolerable
standard nothing_special run-of-the-mill middle-of-the-road neither_good_nor_bad a_mixed_bag hit_and_miss
typical so_so meh fair_enough alright all_right just_okay just_average indifferent in_the_middle plain
serviceable unexceptional
""")
ADJ2 = words("""
disappointing bad weak poor lacking underwhelming annoying unpleasant mediocre_at_best dull bland flawed
frustrating unimpressive subpar sub-par substandard below_average lacklustre lackluster inferior
unsatisfactory unsatisfying inconvenient irritating awkward clumsy tiresome uninspired uninspiring
forgettable questionable dubious unreliable inconsistent overpriced overrated cheap flimsy faulty shoddy
sloppy stale tedious boring lame unappealing unfortunate not_good no_good not_great not_up_to_the_mark off
rough second-rate uneven shaky problematic regrettable mushy
""")
ADJ1 = words("""
terrible awful horrible dreadful atrocious appalling abysmal pathetic disgusting useless worthless garbage
rubbish trash horrendous horrific hideous ghastly disastrous deplorable lousy vile foul revolting repulsive
abominable unbearable unacceptable unusable inexcusable laughable pitiful miserable wretched crap crappy
junk a_joke a_disgrace a_disaster the_worst beyond_bad godawful rotten hopeless insufferable intolerable
unwatchable shameful disgraceful nasty gross a_nightmare painfully_bad truly_bad extremely_poor very_bad
utterly_useless worst_ever diabolical inedible nauseating
""")
VERY = words("""
very really so extremely incredibly truly absolutely totally super quite remarkably exceptionally
particularly seriously wonderfully surprisingly consistently genuinely unbelievably highly thoroughly simply
just insanely damn pretty
""")
SLIGHTLY = words(
    "a_bit slightly somewhat a_little rather kind_of sort_of a_touch a_tad fairly mildly a_little_bit"
)
EMO_GOOD = words("""
impressed pleased happy delighted satisfied thrilled glad amazed overjoyed blown_away in_love grateful
content
""")
EMO_BAD = words("""
disappointed unhappy annoyed frustrated upset dissatisfied irritated angry furious let_down fed_up disgusted
unimpressed displeased appalled sorry regretful cheated ripped_off
""")
PERSON = words("""
wife husband son daughter mother father sister brother friend boss neighbour roommate cousin nephew niece
dad mom mum partner girlfriend boyfriend uncle aunt colleague grandmother grandfather kid
""")
TIME = words("""
yesterday last_week two_weeks_ago a_month_ago last_month in_March in_June in_October last_year
three_days_ago recently this_summer over_Christmas a_few_months_ago on_Monday in_January half_a_year_ago
last_weekend
""")
SPAN = words("""
a_week two_weeks a_month three_months half_a_year ten_days a_couple_of_days a_few_weeks six_months a_year
15_days two_years 20_days 4_days
""")
GO_ON = words("And Also Plus Besides, In_addition, Moreover, On_top_of_that, What_is_more,")
BUT = words("But However, Still, That_said, Then_again, On_the_other_hand, Unfortunately, Sadly, Yet")
OVERALL = lines("""
overall; all in all; in short; in the end; to sum up; bottom line:; at the end of the day; on the whole
final verdict:; in conclusion; taken together; all things considered; when all is said and done
long story short; conclusion:; verdict:
""")

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
