"""Tasting-note vocabulary."""

from training.tiny.corpus.text import Pool, lines, words

STYLES: dict[str, tuple[str, ...]] = {
    "Lager": lines("""
        Pale Lager; Helles; Premium Lager; Munich Helles; Vienna Lager
        Dortmunder; Amber Lager; Dunkel; American Lager
    """),
    "Pilsner": lines("""
        German Pilsner; Bohemian Pilsener; Czech Pilsner
        Classic German Pilsener; Italian Pilsner
    """),
    "IPA": lines("""
        India Pale Ale; Double IPA; New England IPA; Session IPA
        Black IPA; Imperial IPA; West Coast IPA
    """),
    "Pale Ale": lines("""
        American Pale Ale; English Pale Ale; Extra Pale Ale; Belgian Pale Ale
        Bitter; Premium Bitter; ESB
    """),
    "Stout": lines("""
        Dry Stout; Imperial Stout; Milk Stout; Oatmeal Stout
        Sweet Stout; Foreign Stout; Coffee Stout
    """),
    "Porter": lines("""
        Baltic Porter; Brown Porter; Smoked Porter; Robust Porter
        Imperial Porter; Vanilla Porter
    """),
    "Wheat": lines("""
        Hefeweizen; Witbier; Weissbier; Dunkelweizen; American Wheat
        German Hefeweizen; Weizenbock; White Ale
    """),
    "Belgian": lines("""
        Dubbel; Tripel; Quadrupel; Saison; Abbey Dubbel
        Abt; Belgian Strong Ale; Trappist Ale; Farmhouse Ale
    """),
    "Sour": lines("""
        Lambic; Gueuze; Berliner Weisse; Gose; Flanders Red
        Fruit Lambic; Wild Ale; Kriek; Oud Bruin
    """),
    "Brown Ale": lines("""
        English Brown Ale; American Brown Ale; Nut Brown Ale; Mild Ale
        Altbier; Scottish Ale
    """),
    "Bock": lines("Doppelbock; Maibock; Eisbock; Heller Bock; Dunkler Bock"),
    "Barleywine": lines("American Barleywine; English Barleywine; Barley Wine; Old Ale; Wheatwine"),
    "Fruit Beer": lines("""
        Raspberry Ale; Pumpkin Ale; Fruit Beer; Radler
        Cherry Beer; Blueberry Ale; Spiced Ale
    """),
}  # fmt: skip
DARK = ("Stout", "Porter", "Brown Ale")
PALE = ("Lager", "Pilsner", "Wheat", "Pale Ale")
COLOR_PALE = words("""
pale_yellow straw golden light_gold hazy_yellow clear_gold cloudy_orange bright_yellow lemon_yellow honey
blonde pale_amber
""")
COLOR_MID = words("""
amber copper orange deep_gold coppery reddish chestnut ruby_red mahogany burgundy burnt_orange hazy_amber
tawny russet
""")
COLOR_DARK = words("""
black jet_black dark_brown deep_brown opaque_black pitch_black dark_mahogany near_black murky_brown
cola_brown
""")
HEAD = words("""
big_white small_white thick_tan creamy_off-white thin_beige frothy huge_fluffy fizzy_white lasting_creamy
rocky short-lived massive_foamy dense_beige small_bubbly finger_thick mocha-coloured diminishing_white soapy
large_rocky medium_tan
""")
NOTE = words("""
caramel toffee grapefruit orange_peel lemon citrus pine banana clove coriander vanilla oak bourbon coffee
chocolate cocoa raisins plums figs dark_fruit cherries honey biscuit bread toast hay grass flowers pepper
spice licorice molasses smoke roasted_malt brown_sugar apricot peach mango pineapple yeast nuts hazelnut
apple pear rum raspberry herbs earth cinnamon bubblegum dates prunes leather tobacco cream butterscotch
wheat grain tropical_fruit resin dough burnt_toast marzipan
""")
NOTE_BAD = words("""
cardboard wet_paper metal corn cooked_vegetables skunk rubber vinegar soap butter plastic stale_bread
sour_milk sulphur old_socks medicine nail_polish cheap_alcohol wet_dog creamed_corn band-aid cabbage
dirty_water cough_syrup ash dishwater rotten_eggs cat_litter burnt_rubber stale_grain artificial_sweetener
grainy_adjuncts paint_thinner urine mould
""")
ASPECT = words("""
aroma nose taste flavour flavor palate mouthfeel finish body head lacing carbonation aftertaste appearance
bitterness smell malt_base hop_profile balance sweetness texture colour drinkability malt_character
yeast_character foam retention
""")
GOOD_TRAIT = words("""
crisp refreshing balanced well-balanced creamy smooth complex rich full-bodied silky juicy clean drinkable
roasty velvety inviting lively aromatic flavorful flavourful malty mellow layered delicious tasty yummy
moreish quaffable robust bready beautiful luscious deep warming hearty satisfying fragrant zesty elegant
rounded long-lasting harmonious thirst-quenching
""")
BAD_TRAIT = words("""
watery thin skunky flat metallic astringent cloying stale oxidized sour bland harsh soapy one-dimensional
sickly chemical musty lifeless medicinal syrupy burnt buttery grainy undrinkable insipid boring dull weak
off artificial unbalanced muddled fizzy boozy solventy chalky dirty infected rancid characterless acrid
corny tinny sickly_sweet overcarbonated papery vapid
""")
GOOD = Pool("""
{adj4} {aspect}; the {aspect} is {adj4}; the {aspect} is {good_trait}; {good_trait} and {good_trait}
{very} {good_trait}; {good_trait} {aspect} with {note} and {note}; lovely aroma of {note}
nice notes of {note} and {note}; great lacing; the {note} and {note} blend beautifully
{adj4} balance of malt and hops; goes down easily; I could drink this all night; wonderful {note} flavour
long {good_trait} finish; a {good_trait} and {good_trait} beer; the {aspect} impresses; a delight to drink
the {note} comes through nicely; big flavours of {note}, {note} and {note}; hides the alcohol well
a great session beer; perfect on a hot day; I would happily order another pint
the {aspect} is not {bad_trait} at all; beautiful pour; rich {note} up front
fresh {note} and a {good_trait} finish; complex and {good_trait}; mmm, {note}; easy to drink
one of the better ones from {brewery}; subtle {note}, great depth; luscious {note} in the mouth
superb {aspect}, full of {note}; the {note} is wonderful; so much {note}, I love it; warms you nicely
could sip it all day
""")
BAD = Pool("""
{adj2} {aspect}; the {aspect} is {adj2}; the {aspect} is {bad_trait}; {bad_trait} and {bad_trait}
{very} {bad_trait}; {bad_trait} {aspect} with {note_bad} and {note_bad}; aroma of {note_bad}
off notes of {note_bad} and {note_bad}; drain pour; it smells like {note_bad}; smells of {note_bad}
tastes like {note_bad}; no balance at all; hard to finish; poured it down the sink
unpleasant {note_bad} flavour; short {bad_trait} finish; a {bad_trait} and {bad_trait} beer
the {aspect} lets it down; a chore to drink; the {note_bad} ruins it; nothing but {note_bad}
the alcohol burns; not enough hops; lacks flavour; needs more malt; drinks like water
I could not finish the glass; the {aspect} is not {good_trait}; no {aspect} at all; not much aroma
barely any taste; too sweet; too bitter; overpowering {note_bad}; sadly {bad_trait}; went down the drain
one of the weaker ones from {brewery}; gave me a headache; hint of {note_bad}, yuck; ugh, {note_bad}
no head, no lacing; smells bad and tastes worse; very little flavor; typical macro swill; almost no hops
like drinking {note_bad}; bad aftertaste; leaves a {bad_trait} aftertaste; tasteless; no flavour to speak of
just {note_bad} and water; cheap and {bad_trait}
""")
NEUTRAL = Pool("""
pours {color} with a {head} head; poured {color} with {head} head; {color} colour with a {head} head
pours a {color}; aroma of {note} and {note}; nose is {note}, {note} and {note}
taste of {note} with some {note}; hints of {note}; bottle from {city}; on tap at a pub in {city}
330 ml bottle; can from the supermarket; bottle shared with my {person}; {note} in the nose
medium body and average carbonation; light body; finish of {note}; brewed by {brewery}; ABV is {abv}
some {note} in the background; the head fades after a minute; there is {note} and a touch of {note}
light {note}; drunk from a tulip glass; I had this {time}; draft at the brewpub in {city}; bottled {time}
{style} from {brewery}; a hint of {note} in the finish; medium carbonation
flavour has {note}, {note} and {note}; the malt tastes of {note}; rerate: bottle from {city}
UPDATED: {time}; thanks to my {person} for the bottle; some lacing; faint {note}; oily texture
""")
FACTS: dict[str, dict[str, Pool]] = {
    "bitter": {
        "good": Pool("""
            bitter finish; a strong hop bitterness; very bitter; it is quite bitter; firm bitterness
            the bitterness lingers; bitter from start to end; high bitterness; the hops bite
        """),
        "bad": Pool("""
            no bitterness at all; not bitter; hardly any bitterness; I found no bitterness
            free of any bitterness; the bitterness is missing; very low bitterness; bitterness is absent
        """),
    },
    "sweet": {
        "good": Pool("""
            it is very sweet; quite sweet; sugary sweet finish; a sweet beer; sweetness dominates
            sweet like candy; lots of sweetness; the sweetness lingers
        """),
        "bad": Pool("""
            bone dry; not sweet at all; no sweetness; the finish is dry; very dry; hardly any sweetness
            it lacks sweetness; dry from start to end
        """),
    },
    "dark": {
        "good": Pool("""
            pours {color_dark}; poured {color_dark} with a {head} head; {color_dark} in the glass
            the colour is {color_dark}; looks {color_dark}
        """),
        "bad": Pool("""
            pours {color_pale}; poured {color_pale} with a {head} head; {color_pale} in the glass
            the colour is {color_pale}; looks {color_pale}
        """),
    },
    "order_again": {
        "good": Pool("""
            would drink again; I would order it again; I'll have another; will buy this again
            must have it again soon; already bought a case; next round the same, please
            I would seek this out again
        """),
        "bad": Pool("""
            would not drink again; I won't order it again; never again; won't buy this again
            one sip was enough; one and done; I'll stick to something else; no second glass for me
        """),
    },
}  # fmt: skip
LEXICON = {
    "aspect": ASPECT, "good_trait": GOOD_TRAIT, "bad_trait": BAD_TRAIT, "note": NOTE, "note_bad": NOTE_BAD,
    "head": HEAD,
    "color_pale": COLOR_PALE, "color_dark": COLOR_DARK, "color": COLOR_PALE + COLOR_MID + COLOR_DARK,
    "item": ("beer", "beer", "brew", "ale", "pint", "{style_noun}"), "style_noun": words("""
        lager pilsner IPA stout porter wheat_beer dubbel tripel bitter pale_ale bock barleywine saison
        lambic brown_ale
    """),
}  # fmt: skip
