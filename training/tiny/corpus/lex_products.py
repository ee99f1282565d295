"""Vocabulary of product reviews and descriptions."""

from training.tiny.corpus.text import Pool, lines, words

CATEGORIES: dict[str, tuple[str, ...]] = {
    "electronics": lines("""
        USB cable; phone charger; power bank; bluetooth speaker; wireless earbuds; headphones; smartphone
        laptop; tablet; smart watch; television; keyboard; gaming mouse; webcam; router; monitor
        memory card; hard drive; HDMI cable; printer; camera; tripod; earphones; LED projector
        screen protector; car charger; soundbar; pen drive; adapter; microphone; remote control; e-reader
        fitness tracker; drone; game controller; wifi extender; SSD
    """),
    "kitchen": lines("""
        frying pan; kettle; blender; coffee maker; toaster; knife set; cutting board; mixer grinder; juicer
        rice cooker; air fryer; baking tray; water bottle; lunch box; microwave; induction cooktop
        dinner plate set; mug; chopping board; pressure cooker; egg boiler; sandwich maker; whisk
        measuring cups; wok; corkscrew; teapot; spatula
    """),
    "home": lines("""
        vacuum cleaner; desk lamp; pillow; mattress; curtain; room heater; ceiling fan; water heater; iron
        bed sheet; carpet; wall clock; humidifier; storage box; blanket; bookshelf; laundry basket
        air purifier; sofa; mirror; picture frame; candle holder; doormat; extension cord; light bulb
        clothes rack; shower head; geyser
    """),
    "clothing": lines("""
        t-shirt; jacket; pair of jeans; dress; sweater; hoodie; scarf; pair of socks; raincoat; shirt; skirt
        winter coat; pair of shorts; cardigan; belt; tie; pair of gloves; woolen hat; swimsuit; pyjamas
        blouse; suit; leggings
    """),
    "shoes": lines("""
        pair of sneakers; running shoes; boots; sandals; hiking boots; slippers; high heels; loafers
        flip-flops; football boots; leather shoes; rain boots; tennis shoes; ballet flats
    """),
    "toys": lines("""
        puzzle; teddy bear; board game; building blocks; doll; toy train; remote controlled car; kite
        card game; plush rabbit; dollhouse; toy robot; modelling clay; water pistol; rocking horse
        marble run; action figure; yo-yo
    """),
    "sports": lines("""
        yoga mat; dumbbell set; tennis racket; football; bicycle; helmet; skipping rope; tent; sleeping bag
        swimming goggles; golf club; treadmill; backpack; basketball; fishing rod; skateboard; ski poles
        resistance band
    """),
    "beauty": lines("""
        shampoo; face cream; lipstick; hair dryer; perfume; sunscreen; nail polish; electric razor
        body lotion; mascara; hair straightener; soap bar; trimmer; conditioner; makeup brush; hand cream
        eyeliner; toothbrush; deodorant
    """),
    "books": lines("""
        novel; cookbook; travel guide; dictionary; biography; comic book; poetry collection; textbook
        thriller; picture book; atlas; fantasy saga; detective story; memoir; short story collection
        language course; diary
    """),
    "grocery": lines("""
        green tea; olive oil; dark chocolate; peanut butter; instant noodles; coffee beans; honey
        breakfast cereal; pasta; basmati rice; potato chips; protein bar; tomato sauce; almonds; cookies
        jam; spice mix; oat milk; biscuits
    """),
    "garden": lines("""
        lawn mower; garden hose; watering can; flower pot; hedge trimmer; pruning shears; wheelbarrow
        seed set; rake; compost bin; bird feeder; garden chair; parasol; plant fertilizer; leaf blower
        greenhouse; barbecue grill
    """),
    "office": lines("""
        ballpoint pen; notebook; stapler; office chair; desk organizer; printer paper; ink cartridge
        calculator; whiteboard; fountain pen; paper shredder; envelope pack; sticky notes; label maker
        standing desk; highlighter set
    """),
    "automotive": lines("""
        car tyre; dash cam; seat cover; motor oil; wiper blades; car battery; tow rope; roof box; car wax
        jump starter; phone mount for the car; tyre inflator; floor mats; brake pads; parking sensor
        motorcycle helmet
    """),
    "pets": lines("""
        dog food; cat litter; dog leash; scratching post; aquarium; bird cage; pet bed; cat toy; dog shampoo
        hamster wheel; pet carrier; chew bone; fish food; cat tree; dog collar
    """),
    "tools": lines("""
        cordless drill; hammer; screwdriver set; saw; tape measure; wrench; ladder; pliers; toolbox; sander
        spirit level; soldering iron; angle grinder; glue gun; work light; paint roller; hex key set; vice
        staple gun
    """),
    "music": lines("""
        acoustic guitar; electric piano; violin; drum set; ukulele; microphone stand; guitar strings; flute
        vinyl record; metronome; harmonica; guitar amplifier; saxophone; music stand; DJ controller; trumpet
        CD album
    """),
}  # fmt: skip
CATEGORY_NAMES = {
    "electronics": ("Electronics", "Consumer Electronics", "gadgets", "tech"),
    "kitchen": ("Kitchen", "Cookware", "kitchenware"),
    "home": ("Home", "Household", "Home & Living"), "clothing": ("Clothing", "Fashion", "apparel", "clothes"),
    "shoes": ("Shoes", "Footwear"), "toys": ("Toys", "Toys & Games", "games"),
    "sports": ("Sports", "Sports & Outdoors", "fitness"),
    "beauty": ("Beauty", "Cosmetics", "Personal Care"), "books": ("Books", "Literature", "reading"),
    "grocery": ("Grocery", "Food", "food and drink", "Groceries"),
    "garden": ("Garden", "Gardening", "Outdoor & Garden"),
    "office": ("Office", "Stationery", "Office Supplies"),
    "automotive": ("Automotive", "Car Accessories", "cars"),
    "pets": ("Pets", "Pet Supplies"), "tools": ("Tools", "Hardware", "DIY"),
    "music": ("Music", "Musical Instruments"),
}  # fmt: skip

ASPECT = words("""
quality build_quality material design finish size colour color look weight performance packaging price sound
battery screen display handle fit comfort manual instructions smell texture feel durability strength speed
functionality workmanship surface construction button zipper stitching fabric lid cord plug motor connector
cable_length sound_quality picture_quality charging_speed battery_life noise_level installation setup
customer_service app software warranty support delivery value_for_money grip coating paint box
colour_options buttons seams wheels hinge edges camera touch_response bass treble mic range signal heating
cooling suction blade lens strap cushion padding thickness length
""")
GOOD_TRAIT = words("""
sturdy durable robust well-built lightweight comfortable handy compact soft easy_to_use easy_to_clean
easy_to_install solid quiet fast sharp vibrant bright crisp sleek stylish portable waterproof
well_thought_out user_friendly smooth long-lasting strong_and_sturdy premium genuine affordable
reasonably_priced cost_effective true_to_size versatile efficient accurate responsive snug tough
value_for_money safe flexible unbreakable elegant practical precise clear loud
""")
BAD_TRAIT = words("""
flimsy fragile cheaply_made uncomfortable noisy heavy_and_clumsy slow blurry dim scratched dented rusty
wobbly leaky hard_to_clean complicated confusing overpriced brittle bulky too_small too_big too_short
too_tight sticky smelly greasy defective broken loose torn faded misleading inaccurate laggy unresponsive
useless poorly_made badly_designed second-hand unsafe weak stiff itchy scratchy muffled crooked warped
cracked chipped low_quality plasticky counterfeit fake expired
""")

GOOD = Pool("""
the {aspect} is {adj4}; the {aspect} is {very} {good_trait}; {good_trait} and {good_trait}; works {well}
works as advertised; I like the {aspect}; really like the {aspect}; love the {aspect}; {very} {good_trait}
the {aspect} is better than expected; it feels {good_trait}; {adj4} {aspect}; {adj4} {aspect} for the price
{emo_good} with the {aspect}; it charges fast; it does exactly what I need; it looks {adj4}
it fits perfectly; my {person} loves it; it works like a charm; no issues so far
easy to set up and {good_trait}; still going strong after {span}; good value for money
you can't beat the price; it has never let me down; it is {very} {good_trait} and the {aspect} is {adj4}
the {aspect} impressed me; sounds {adj4}; it makes life easier; the {aspect} is not {adj2} at all
I have used it for {span} without any problem; no complaints; it holds up well
arrived early and well packed; fast delivery; connects in seconds; the battery lasts all day; stays cool
picture is clear and {good_trait}; I get compliments on it; it saved me a lot of time
the {aspect} is a big plus; great build and {adj4} {aspect}; no lag, no noise, no problems
well worth the money; it survived several drops; thanks to the seller for the {adj4} {aspect}
the {aspect} beats more expensive brands; cheap and {good_trait}; would order from this brand again
the {aspect} is on point; {aspect} - {adj4}; {aspect}: {good_trait}; pros: {aspect}, {aspect}
perfect for travel; a pleasure to use; a joy to use; it runs smoothly; the {aspect} could not be better
good product; my {person} uses it every day and is {emo_good}; just what I was looking for
they replaced it free of charge without fuss
""")
BAD = Pool("""
the {aspect} is {adj2}; the {aspect} is {very} {bad_trait}; {bad_trait} and {bad_trait}; doesn't work
stopped working after {span}; I don't like the {aspect}; I dislike the {aspect}; hate the {aspect}
{very} {bad_trait}; the {aspect} is worse than expected; it feels {bad_trait}; {adj2} {aspect}
{adj2} {aspect} for the price; {emo_bad} with the {aspect}; it broke after {span}
it does not do what it promises; it looks {adj2}; it does not fit; my {person} hates it; it fell apart
it gave up after {span}; I had to return it; returned it; sent it back; the {aspect} failed within {span}
died after {span}; poor value for money; the {aspect} keeps failing
it is {very} {bad_trait} and the {aspect} is {adj2}; the {aspect} disappointed me; sounds {adj2}
it makes a strange noise; the {aspect} is not {adj4}; the {aspect} is not as {good_trait} as described
not {good_trait} at all; arrived damaged; arrived late and badly packed; parts were missing
it disconnects all the time; the battery drains quickly; it overheats; it gets too hot; it leaks
customer service never answered; they refused a refund; the seller ignored me; the {aspect} came off
the {aspect} ripped on the first day; it started rusting; nothing but trouble; false advertising
fooled by the photos; received a defective piece; got a used item; not worth the money
too expensive for what it is; charging is slow and the {aspect} is {adj2}; keeps freezing
it never worked properly; {aspect} - {adj2}; {aspect}: {bad_trait}; cons: {aspect}, {aspect}
I wasted my money; useless after {span}; the {aspect} lacks quality; no {aspect} to speak of
don't fall for the {aspect}; it hurts to use; it tore at the seams; the {aspect} leaves a lot to be desired
stopped charging; it won't turn on; dead on arrival; cheap plastic; my {person} regrets buying it
replacement was no better
""")
NEUTRAL = Pool("""
I bought this {item} {time}; I ordered it for my {person}; it came in a brown box; I have had it for {span}
it is made of plastic and metal; the colour is as shown; I use it at home; I use it at work
it is my second {item}; it replaced my old one; my {person} recommended it; I compared several brands before
the box contains a manual; it comes with a cable; ordered in the medium size; I am writing this after {span}
this is my first review; the {aspect} is {adj3}; it weighs about a kilo
there are three colours to choose from; I saw it on the internet; I needed a new {item}
my old {item} was ten years old; I read the other reviews first; it is about the size of my hand
you can buy it in many shops; the {item} is from {brand}; I got the black one; I keep it in the kitchen
it was on sale; it has two buttons on the side; used it for {span} now; I opened the box {time}
the {aspect} is as described; will update this review after {span}; pros and cons below
let me tell you about this {item}; bought it from {brand}
""")
WELL = words(
    "great well fine perfectly flawlessly like_a_dream smoothly beautifully reliably as_expected brilliantly"
)
FACTS: dict[str, dict[str, Pool]] = {
    "price": {
        "good": Pool("""
            the price is fair; at {price} it is a steal; cheap at only {price}; good value at {price}
            a bargain for {price}; reasonable price; I paid just {price} and got a lot for it
            the price is right; so affordable
        """),
        "bad": Pool("""
            {price} is far too much; way too expensive; overpriced at {price}; not worth {price}
            the price is a joke; {price} for this is robbery; costs too much; I paid {price} for nothing
            it should cost half of {price}
        """),
    },
    "shipping": {
        "good": Pool("""
            shipping was fast; it arrived two days early; delivery was quick; quick shipping
            the courier was friendly; arrived on time; it was delivered the next day
            the parcel came well packed; free shipping was a plus
        """),
        "bad": Pool("""
            shipping took forever; it arrived three weeks late; delivery was slow
            the courier lost it at first; the parcel arrived crushed; shipping was a mess
            it was delivered to the wrong address; delivered after {span}
        """),
    },
    "battery": {
        "good": Pool("""
            the battery lasts for days; battery life is {adj4}; great battery
            the battery still holds its charge; I charge the battery once a week
            one charge of the battery is enough for {span}; the battery is strong
        """),
        "bad": Pool("""
            the battery dies within an hour; battery life is {adj2}; the battery does not hold a charge
            the battery swelled up; weak battery; I have to charge the battery all the time
            the battery was dead
        """),
    },
    "gift": {
        "good": Pool("""
            I gave it to my {person} as a present and it went down well; bought as a gift, big success
            a lovely gift; it was a birthday present for my {person}, who loves it
            the perfect christmas gift
        """),
        "bad": Pool("""
            I was ashamed to give it as a present; bought as a gift, what an embarrassment; a bad gift
            it was a birthday gift for my {person} and it broke; my {person} did not like the present
        """),
    },
    "buy_again": {
        "good": Pool("""
            I would buy it again; will buy again; I'd purchase it again in a heartbeat
            already ordered another one; I will order two more; I am buying a second one
            would definitely purchase again; next time I will buy it again
        """),
        "bad": Pool("""
            I would not buy it again; will not buy again; never buying this again
            I won't order it a second time; last time I buy this; would never purchase it again
            I will buy another brand next time; not buying again
        """),
    },
}  # fmt: skip

LEXICON = {
    "item": ("product", "item", "thing"),
    "aspect": ASPECT,
    "good_trait": GOOD_TRAIT,
    "bad_trait": BAD_TRAIT,
    "well": WELL,
}
