"""Vocabulary of film reviews and plots."""

from training.tiny.corpus.text import Pool, lines, words

ASPECT = words("""
plot acting script dialogue cinematography direction pacing ending soundtrack score cast lead_actor
performance story screenplay humour camera_work editing atmosphere character_development special_effects
visuals costume_design twist opening_scene final_act first_half second_half premise
chemistry_between_the_leads villain supporting_cast tone writing production_design animation dubbing stunts
action_scenes climax comic_timing storytelling narration lighting
""")
GOOD_TRAIT = words("""
gripping moving touching funny hilarious witty clever thrilling suspenseful heartwarming thought-provoking
stylish sharp captivating compelling engaging entertaining inventive original poignant riveting believable
intelligent tense subtle charming mesmerizing absorbing uplifting gritty haunting hypnotic powerful profound
ambitious delicate warm honest bold masterly accomplished satisfying lively energetic beautifully_shot
well_acted well_paced smart refreshing spellbinding enchanting exhilarating imaginative insightful tender
visually_rich nuanced layered luminous crowd-pleasing irresistible
""")
BAD_TRAIT = words("""
boring predictable wooden clichéd cliched shallow confusing dragging slow tedious contrived pretentious
messy incoherent silly cheesy bloated forced overlong lifeless flat stale unfunny pointless uninspired
derivative clumsy preachy hollow implausible muddled sluggish unconvincing formulaic soulless ludicrous
manipulative overwrought toothless sappy corny half-baked ham-fisted charmless witless mindless generic
melodramatic disjointed self-indulgent plodding trite vapid exasperating numbing ponderous shapeless
laboured perfunctory amateurish tiresome cartoonish heavy-handed joyless
""")
ROLE = words("""
detective widow soldier teacher young_girl boy scientist journalist farmer pilot painter lawyer nurse thief
sailor retired_cop student musician chef ghost_hunter king princess astronaut spy gangster baker fisherman
orphan doctor robot bank_clerk surgeon inventor monk singer private_eye truck_driver mother_of_two
""")
GENRES: dict[str, tuple[str, ...]] = {
    "Action": lines("""
        fights his way through an army of mercenaries; must stop a hijacked train
        races against time to defuse a bomb; takes on a ruthless arms dealer
        chases an assassin across the rooftops; goes on a rampage of explosions and gunfire
    """),
    "Comedy": lines("""
        gets mixed up in a series of hilarious misunderstandings; has to pretend to be a priest at a wedding
        turns a funeral into a farce; accidentally becomes mayor and causes chaos
        tries to win a ridiculous baking contest
    """),
    "Drama": lines("""
        struggles with grief after a family tragedy; must face an estranged father
        fights an illness and finds dignity; loses a job and a marriage in one winter
        returns to a dying village to make peace; cares for an ageing parent
    """),
    "Horror": lines("""
        is haunted by a demon in the cellar; discovers that the old house is cursed
        is stalked by a masked killer; awakens an ancient evil in the woods; hears the dead whisper at night
        must survive a night among zombies
    """),
    "Romance": lines("""
        falls in love with a stranger on a train; must choose between two lovers
        meets a childhood sweetheart again; writes love letters to someone never met
        finds true love in Paris; kisses the wrong person and loses their heart
    """),
    "Science Fiction": lines("""
        travels through a wormhole to a distant planet; finds an alien signal; wakes up on a space station
        discovers that humanity lives in a simulation; builds a time machine
        must stop a rogue artificial intelligence
    """),
    "Thriller": lines("""
        is drawn into a deadly game of cat and mouse; learns that nobody can be trusted
        witnesses a murder and runs; receives anonymous threats
        uncovers a conspiracy that reaches the government; has 24 hours to find a kidnapped child
    """),
    "Western": lines("""
        rides into a lawless frontier town; faces an outlaw gang in a duel at high noon
        drives cattle across the prairie; becomes sheriff of a dusty gold rush town
        hunts a bounty through the desert on horseback
    """),
    "Crime": lines("""
        plans one last heist; rises in the ranks of the mafia; investigates a chain of robberies
        hides stolen diamonds; goes undercover in a drug cartel; is framed by a corrupt police chief
        robs a bank with three old friends
    """),
    "Animation": lines("""
        is a cartoon hedgehog who wants to fly; leads a band of talking animals home
        a drawn world of singing teapots; is a little toy who comes alive at night
        an animated tale of a brave snail; learns to swim with cartoon penguins
    """),
    "Documentary": lines("""
        talks in interviews about forty years of glacier research
        is followed by a camera crew through a real factory
        the film collects archive footage and real testimonies; a non-fiction look at the fishing industry
    """),
    "Fantasy": lines("""
        inherits a magic sword; must return an enchanted ring to the dragon
        learns to cast spells from an old wizard; enters a kingdom of elves; breaks a witch's curse
        rides a griffin to save the realm
    """),
    "War": lines("""
        is sent to the trenches; leads a platoon behind enemy lines
        survives the siege of the city during the war; deserts the army before the battle
        defends a bridge against tanks; flies bombers over the front
    """),
    "Musical": lines("""
        sings and dances their way to Broadway; bursts into song at every corner
        puts on a grand singing show; rehearses a dance number in every scene
        joins a travelling choir of singing sailors
    """),
    "Adventure": lines("""
        searches for a lost temple in the jungle; sails around the world after a treasure map
        crosses the Sahara; climbs an unclimbed peak; explores a hidden valley
        goes on a quest for the sunken city
    """),
    "Historical": lines("""
        serves at the court of Queen Anne in 1705; lives through the French Revolution
        builds a cathedral in 1200; witnesses the fall of Rome
        marries into a noble house of the Renaissance; plots against a medieval king
    """),
    "Sports": lines("""
        trains for the boxing championship; leads the losing team to the final match
        runs the marathon against all odds; coaches a school football team; returns to the race track
        skates for the gold medal
    """),
    "Family": lines("""
        spends the summer holidays with grandpa and a clever dog; must save the school play
        adopts a lost puppy; brings parents and children together for a birthday
        discovers friendship at a holiday camp
    """),
}  # fmt: skip
KID_FRIENDLY = ("Animation", "Family", "Musical", "Fantasy", "Comedy", "Adventure")
NOT_FOR_KIDS = ("Horror", "War", "Crime", "Thriller")
KIDS = {
    "good": Pool("""
        children will love it; suitable for the whole family; great fun for kids
        nothing in it would scare a child; a film for young and old; perfect for a family evening
        rated for all ages; my kids laughed all the way through
    """),
    "bad": Pool("""
        not for children; full of blood and violence; keep the kids away from it
        too brutal for a family evening; contains nudity and strong language; for adults only
        it gave my kids nightmares; the gore is hard to watch
    """),
}  # fmt: skip
GOOD = Pool("""
the {aspect} is {adj4}; the {aspect} is {good_trait}; {good_trait} and {good_trait}; I laughed out loud
I was moved to tears; the {aspect} kept me on the edge of my seat; a {good_trait} piece of cinema
{adj4} {aspect}; the {aspect} shines; a {good_trait} and {good_trait} film; the cast is at its best
{director} is on top form; an {good_trait} story well told; time flew by
a {good_trait} portrait of a {role}; the {aspect} alone is worth the ticket; it stays with you for days
never a dull moment; {director} proves a real talent; the {aspect} won me over; a film with heart
rich in ideas; a triumph of {aspect}; brims with life; packs an emotional punch
the {aspect} hits all the right notes; a feast for the eyes; {director} has made a {good_trait} film
{good_trait} from start to finish; holds you in its grip; casts a spell
the {aspect} is not {bad_trait} at all; fresh and {good_trait}; it earns its tears; a breath of fresh air
a sheer delight; as {good_trait} as anything you will see this year; the {aspect} surprises in the best way
one of {director}'s finest; it works beautifully; {good_trait}, {good_trait}, and never {bad_trait}
the actors give their all; the jokes land
""")
BAD = Pool("""
the {aspect} is {adj2}; the {aspect} is {bad_trait}; {bad_trait} and {bad_trait}; I fell asleep
I checked my watch all the time; the {aspect} drags on; a {bad_trait} piece of cinema; {adj2} {aspect}
the {aspect} falls flat; I walked out after an hour; a {bad_trait} and {bad_trait} film; the cast is wasted
{director} has lost the touch; the jokes don't land; no tension at all
two hours of my life I won't get back; a {bad_trait} portrait of a {role}; the {aspect} ruins it
instantly forgotten; never comes to life; {director} proves out of ideas; the {aspect} left me cold
a film without a heart; poor in ideas; a failure of {aspect}; runs out of steam; lacks any emotional punch
the {aspect} misses every note; an eyesore; {director} has made a {bad_trait} film
{bad_trait} from start to finish; outstays its welcome; a slog; a chore to sit through
the {aspect} is not {good_trait} at all; neither {good_trait} nor {good_trait}; full of plot holes
more yawns than thrills; as {bad_trait} as anything you will see this year; we have seen all this before
one of {director}'s worst; a missed chance; it never works; {bad_trait}, {bad_trait}, and never {good_trait}
the actors sleepwalk through it; style over substance; too long by half; tries too hard
squanders a good premise; the film collapses in the {aspect}; should have stayed in the drawer
a mess of half-formed ideas; all noise and no soul; the {aspect} tests your patience; a waste of talent
lazy and {bad_trait}
""")
NEUTRAL = Pool("""
I saw {title} {time}; {director} directed it; it is set in {city}; the film follows a {role}
it runs for two hours; we watched it at the cinema in {city}; my {person} chose the film
it is based on a novel; it was shot in black and white; the film opened in {year}
it is the second film of {director}; it tells the story of a {role} and a {role}; the {aspect} is {adj3}
it is in English with subtitles; the first part is set in {city}; a {role} meets a {role}
there are about ten songs in it; it was shown at a festival; the lead is played by a newcomer
this is a remake; full review in Spanish; the story takes place in {year}; I knew the book before
the DVD has two discs
""")
FACTS: dict[str, dict[str, Pool]] = {
    "acting": {
        "good": Pool("""
            the acting is {good_trait}; the actors are {adj4}; wonderful acting; the lead actress is {adj5}
            a great performance by the lead; every actor is convincing; {adj4} acting all round
        """),
        "bad": Pool("""
            the acting is {bad_trait}; the actors are {adj2}; terrible acting; the lead actress is {adj1}
            a weak performance by the lead; no actor is convincing; the acting is as stiff as a board
        """),
    },
    "ending": {
        "good": Pool("""
            the ending is {good_trait}; the ending surprised me; a satisfying ending; I loved how it ended
            the finale is {adj5}; the last scene is {good_trait}; the ending ties everything together
        """),
        "bad": Pool("""
            the ending is {bad_trait}; the ending makes no sense; what an {adj1} ending
            I hated how it ended; the finale is {adj2}; the last scene is {bad_trait}
            the ending spoils everything
        """),
    },
    "music": {
        "good": Pool("""
            the music is {adj4}; a {good_trait} soundtrack; the songs stay in your head
            I bought the soundtrack; the score is {adj5}; the music lifts every scene
        """),
        "bad": Pool("""
            the music is {adj2}; a {bad_trait} soundtrack; the songs are annoying; the score is far too loud
            the music drowns the dialogue; the score is {adj1}
        """),
    },
}  # fmt: skip
LEXICON = {
    "aspect": ASPECT, "good_trait": GOOD_TRAIT, "bad_trait": BAD_TRAIT, "role": ROLE,
    "item": ("film", "movie", "film", "movie", "picture", "drama", "story"),
}  # fmt: skip
