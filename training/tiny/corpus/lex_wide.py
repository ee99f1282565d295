"""More adjectives and tasting, shopping and viewing clauses, for breadth of vocabulary."""

from training.tiny.corpus.text import lines, words

ADJ5 = words("""
awe-inspiring blissful captivating dreamy ecstatic electrifying enthralling exemplary faultless glowing
heaven_sent ideal impressive_beyond_words incomparable ingenious irresistible jaw-dropping lush magical
marvelously_good miraculous optimal peerless prodigious radiant ravishing resplendent rousing scrumptious
staggering stupendous super supreme swell top transcendent triumphant ultimate unforgettable unmatched
unparalleled unsurpassed virtuoso wicked_good wondrous 5-star five-star A1 ace bomb dope sick_in_a_good_way
fire lit goat unreal mindblowing really_great truly_great so_good too_good
""")
ADJ4 = words("""
absorbing accomplished adept affable alright_and_then_some amiable amusing apt balanced bearable_and_more
becoming bright cheerful classy comfy commendably_good considerate consistent constructive cosy credible
cute dandy decent_enough deserving desirable diligent durable easy economical engaging enjoyably_simple
esteemed fair_and_good faithful fancy favorable fetching fitting flavoursome fresh friendly fulfilling
genial gentle genuine gifted good_quality graceful gratifying hearty honest humorous inspired intelligent
inviting joyful jolly kind lively luxurious masterly mature meaningful memorable merry modern neatly_done
nifty noble okay_plus optimistic original peaceful perky playful popular powerful practical precious premium
productive proficient promising proper pure quick rich right safe savvy sensible sincere skilful snappy
soothing sound special stable striking sunny superior_to_most suitable supportive sweetly_done tasteful
tempting thoughtfully_made uplifting upbeat valuable vivid well-designed winning wise youthful zippy
spotless tasty
""")
ADJ3 = words("""
moderate medium middle-grade common everyday regular conventional mixed ambivalent undecided 50-50
so-so_at_most bog-standard workaday usual normal expected unexciting_but_fine decent_but_dull bearable
as_expected neutral moderately_good
""")
ADJ2 = words("""
abrasive amateurish anaemic arduous artless banal baffling bleak bothersome bumpy burdensome careless
charmless chaotic coarse cold confused cramped crude cumbersome dated deficient depressing derivative dim
dismal dodgy doubtful drab dragging dreary dry_and_dull dubious dumb dusty empty erratic excessive
exhausting expensive_for_what_it_is fake feeble finicky fishy foolish forgettably_dull fragile frail fussy
gaudy gloomy graceless grating grim half-hearted half-finished hackneyed harsh haphazard hollow humdrum icky
ill-conceived imperfect imprecise inadequate incomplete inept ineffective insipid insufficient joyless
jumbled kitschy lazy lifeless limp low-grade lukewarm_at_best messy misguided mistaken monotonous muddled
mundane murky needless negative obnoxious obsolete odd old-fashioned outdated painful paltry pedestrian
petty phony pointless pretentious puzzling regretful repetitive rickety risky rude rushed rusty sad scant
scruffy senseless shallow silly simplistic sluggish small-minded soggy sour soulless spotty stingy stodgy
stupid superficial suspicious tacky tame tasteless thoughtless tired tiring trivial troublesome ugly
unacceptable_to_me unclear uncomfortable undercooked uneasy unfair unfinished unfunny unhelpful
unimaginative uninteresting unneeded unoriginal unpolished unsafe unsettling unstable unsuitable untidy
unwanted unwieldy unworthy upsetting vague vapid washed_out wasteful wearisome wishy-washy wonky wrong
yawn-inducing mediocre_or_worse
""")
ADJ1 = words("""
agonising appallingly_bad bad_beyond_words bogus catastrophic crappy damnable dangerous dead_on_arrival
despicable detestable dire disastrously_bad egregious excruciating execrable fraudulent ghoulish god-awful
grotesque gruesome harrowing hateful heinous hellish horrid idiotic inane incompetent infuriating insulting
irredeemable loathsome ludicrous maddening moronic noxious obscene odious offensive outrageous putrid rank
repellent repugnant ridiculous scandalous shitty shocking sickening stomach-churning stinking
terrible_beyond_belief toxic traumatic unbelievably_bad unspeakable vomit-inducing wicked woeful yucky
rotten_to_the_core dog-awful bullshit absurdly_bad unsalvageable so_bad really_terrible just_awful
""")

BEER_GOOD = lines("""
rich and complex with {note}, {note} and {note}; so smooth; really smooth; smooth and easy
nice and {good_trait}; yum; great head retention and lacing; big {head} head that lasts
leaves beautiful lacing down the glass; tons of {note} in the nose; the malts are rich and warming
hops and malt in harmony; nicely carbonated; fresh and clean; sits well on the tongue
{note} everywhere, just how I like it; a classic of its style; true to style; textbook {style}
benchmark for the style; deep {note} and {note}; loads of {note}; bursting with {note}
a big, bold, beautiful beer; warming alcohol in the finish; the bourbon and vanilla are well integrated
ages well; it opens up as it warms; gets better as it warms; quite the treat; thick, creamy mouthfeel
full, round body; very drinkable; dangerously drinkable; great balance; a sipper; complex nose
layers of {note}, {note} and {note}; hint of {note} rounds it off; delightful {note} character
lovely deep {color}; thirst quencher; crisp and refreshing on a summer day; nice hop bite; well hopped
nice bitterness; just the right sweetness; intense {note} aroma; full of flavour; never gets boring
wow, the {aspect}; beautiful head; great depth of flavour; my favourite {style}; as good as the trappists
world class {style}; easily the best {style} I've had; very tasty stuff
""")
BEER_BAD = lines("""
not much going on; light body, light flavour, light everything; typical cheap lager; no character
no hops, no malt, no taste; tastes of corn and rice; cheap corn lager; little aroma, little taste
very little head; the head vanished at once; dead flat; thin watery body; weak aroma of {note_bad}
smells faintly of {note_bad}; sweet corn and {note_bad}; watered down; watery finish; too much {note_bad}
too carbonated; like soda; like sparkling water; like sucking on a penny; harsh alcohol; raw alcohol burn
artificial {note}; fake {note} flavour; syrupy {note} overload; {note} syrup, nothing else
sticky sweet mess; sugar bomb; out of date; skunked bottle; clear glass and skunky; old and oxidized
infected bottle; gusher; this bottle was off; couldn't get through half of it; gave the rest to the sink
drain-poured; had to pour it out; I left most of it; hard to swallow; some kind of {note_bad}
strange {note_bad} taste; odd {note_bad} finish; bad {note_bad} on the palate; stinks of {note_bad}
a poor example of the style; not true to style; hardly a {style}; worst {style} I've had; a boring {style}
macro piss; swill; the brewer should try again; lacks everything; lacks body and flavour; lacks hops
dull malt; thin, thin, thin; bland and {bad_trait}; only good ice cold
only drink it if nothing else is there; rather drink water; for mowing the lawn at best; not much taste
tastes like nothing; nothing there; nearly tasteless; flavourless; hardly any aroma; unpleasant aroma
unpleasant aftertaste
""")
BEER_NEUTRAL = lines("""
mouthfeel is medium; clear {color} body with {head} head; hazy; some sediment; sampled at a festival
500 ml bottle; had it on cask; light to medium body; dry finish; oily feel; sticky lips; a bit of alcohol
finishes with {note}; malt, {note}, {note} and hops; the nose has {note} and some {note}; on draft
bottle conditioned; best before next year; picked it up in {city}; can, 440 ml; light lacing
moderate carbonation; {note} malt with {note} hops; earthy hops; grassy hops; a little {note} as it warms
yeast and {note}; {note}; {note}, {note}; slight {note}; dusty {note}; body is light to medium
average texture; soft carbonation
""")
PRODUCT_GOOD = lines("""
value for money product; go for it; you can go for it; worth buying; worth the price; must buy
happy with the purchase; nice one; good quality product; superb quality; material is good; build is solid
installation was easy; the technician did a great job; fast charging works; charges my phone quickly
cable is strong and long; works with my laptop and phone; data transfer is fast
sound is clear and bass is deep; picture is sharp; remote works well; heats the room quickly
boils water in two minutes; easy to carry; easy to handle; easy to use; user friendly; light in weight
compact and useful; sits firmly; fits like a glove; no heating issue; no lag at all; screen is bright
camera takes great pictures; battery backup is good; battery lasts two days
using it for {span} and no problem till now; works fine till now; it does the job perfectly
serves the purpose; as described; got it at a great price; best in this price range; best budget {item}
genuine product; original product; well packed; satisfied; fully satisfied; happy customer; good buy
great buy; great deal; smart purchase; thank you; excellent product; wifi connects quickly
typing is comfortable; the mouse glides smoothly; the cloth is soft; stitching is neat; colour did not fade
my {person} is so happy with it; my {person} uses it daily; received it before time; well designed
performs as promised; very useful product; very good product for this price; pretty decent for the money
I'd recommend it to everyone; 100% satisfied
""")
PRODUCT_BAD = lines("""
waste of money; not worth the price; don't buy; do not buy this; please don't buy; money wasted; total loss
cheap quality; poor quality product; third class quality; material is thin; build is flimsy
installation was a pain; nobody came to install it; charging is very slow; stopped charging after {span}
cable broke near the connector; does not work with my phone; loose connection; sound is muffled; no bass
picture is blurry; remote does not work; takes forever to heat; makes a loud noise; smells burnt
hard to carry; hard to use; confusing menu; too heavy; too bulky; slips all the time; does not fit at all
wrong size; heating issue; it hangs a lot; screen flickers; camera is blurry; battery backup is bad
battery drains in an hour; used it for {span} and it died; not working now; does not do the job
does not serve the purpose; not as described; fake product; not worth it even at half price
worst in this price range; duplicate product; old stock; bad packing; broken seal; box was open
dissatisfied; not satisfied; unhappy customer; bad buy; bad deal; big mistake; cheated; return not accepted
refund denied; wifi drops constantly; keys stick; the mouse lags; the cloth is rough; stitching came apart
colour faded after one wash; my {person} is so upset with it; my {person} threw it away; received it late
badly designed; does not perform as promised; completely useless product; very bad product for this price
not even worth half; I'd warn everyone; 100% disappointed; pathetic service; it gave me an electric shock
it caught fire; short circuit; water leaks from the bottom; it cracked on the second day; motor burned out
""")
PRODUCT_NEUTRAL = lines("""
usage: at home with my phone; I have connected it to my tv; cable length is one meter
there is a light on the front; warranty card is in the box; I use it with my laptop; it comes in two sizes
model from last year; bought during the sale; installed it {time}; it has a usb port
the charger is sold separately; capacity is one litre; colour: black; size: medium
here are my thoughts after {span}; posting after {span} of use; my {person} uses it; needs two batteries
works on android too
""")
FILM_GOOD = lines("""
a must-see; worth seeing; see it; go see it; don't miss it; one of the best films of the year
an instant classic; pure cinema; funny, {good_trait} and {good_trait}
manages to be {good_trait} and {good_trait}; delivers the goods; pays off; deeply satisfying
an actor's showcase; the leads have great chemistry; every frame is a painting; beautifully directed
smartly written; packed with laughs; a rollicking good time; a wild ride; sheer entertainment
solid entertainment; gripping stuff; a knockout; it will make you laugh and cry; leaves you wanting more
lingers in the mind; a love letter to cinema; restores faith in cinema; {director} directs with a sure hand
breathes new life into the genre; an auspicious debut; a remarkable debut; a tour de force
holds up after all these years; still fresh; rewards patience; rewards a second viewing
surprisingly {good_trait}
""")
FILM_BAD = lines("""
a must-miss; not worth seeing; skip it; don't see it; wait for the DVD, or don't
one of the worst films of the year; forgettable; neither funny nor {good_trait}
manages to be {bad_trait} and {bad_trait}; fails to deliver; never pays off; deeply frustrating
the actors are wasted; the leads have no chemistry; every scene drags; badly directed; lazily written
phoned in; short on laughs; a dreary time; a bumpy ride; sheer boredom; tepid entertainment; yawn; a snooze
a clunker; a stinker; a bomb; it will put you to sleep; leaves you wanting less
gone from the mind by the parking lot; an insult to the genre; cash grab; {director} directs without a clue
drains the life out of the genre; an inauspicious debut; a tired retread; going through the motions
has not aged well; already stale; tests your patience; not worth a second viewing; surprisingly {bad_trait}
sinks like a stone
""")
EXTRA = {
    "products": (PRODUCT_GOOD, PRODUCT_BAD, PRODUCT_NEUTRAL), "films": (FILM_GOOD, FILM_BAD, ()),
    "beers": (BEER_GOOD, BEER_BAD, BEER_NEUTRAL),
}  # fmt: skip
