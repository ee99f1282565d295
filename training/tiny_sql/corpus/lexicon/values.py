"""Values that columns of a meaning hold, by the last word of the column's name."""

FIRST_NAMES = tuple(
    (
        "Anna Olivia Kenji Irene Thomas Carlos Dmitri Maria John Peter Laura Ahmed Fatima Wei Mei Sven Ingrid Pablo Lucia Emma "
        "Noah Liam Zoe Ivan Nina Omar Leila Hugo Clara Felix Alice Bob David Sarah Julia Mark Paul Rosa Yuki Priya Tom Eva Max "
        "Sofia Mateo Chloe Oscar Ruth Samuel Grace Henry Iris Jonas Kira Linus Mona Nils Otto Petra Quinn Rita Stella Tina Victor"
    ).split()
)
LAST_NAMES = tuple(
    (
        "Smith Rossi Abbott Ortiz Ford Schmidt Kim Tanaka Novak Silva Costa Meyer Dubois Larsen Ivanova Khan Haddad Brown Jones "
        "Garcia Weber Moreau Lind Okafor Singh Patel Miller Davis Wilson Lopez Nguyen Chen Wang Sato Berg Jansen Kowalski Popov "
        "Fischer Wagner Bianchi Romano Moreno Vega Cruz Walker Young Hall Adams Baker Nelson Carter Evans Turner Parker Collins"
    ).split()
)
_CITIES = (
    "Paris, London, Berlin, Madrid, Lima, Porto, Oslo, Vienna, Prague, Dublin, Cairo, Tokyo, Boston, Denver, Austin, Seattle, "
    "Toronto, Sydney, Mumbai, Delhi, Seoul, Lagos, Athens, Rome, Milan, Lyon, Geneva, Zurich, Warsaw, Riga, Vilnius, Helsinki, "
    "New York, San Francisco, Los Angeles, Cape Town, Hong Kong, Buenos Aires, Mexico City, Munich, Hamburg, Leeds, Osaka, Kyoto"
)
_COUNTRIES = (
    "France, Germany, Spain, Italy, Japan, Brazil, Canada, India, China, Mexico, Poland, Norway, Sweden, Denmark, Belgium, Peru, "
    "Chile, Kenya, Egypt, Greece, Turkey, Portugal, Austria, Ireland, Iceland, Finland, Vietnam, USA, United States, South Korea, "
    "New Zealand, South Africa, United Kingdom, UK, Netherlands, Morocco, Cuba, Nigeria, Argentina, Australia"
)
_LISTS = {
    "city": _CITIES,
    "location": _CITIES,
    "place": _CITIES,
    "destination": _CITIES,
    "origin": _CITIES + ", " + _COUNTRIES,
    "country": _COUNTRIES,
    "nationality": "French, German, Spanish, Italian, Japanese, Brazilian, Canadian, Indian, Chinese, Mexican, Polish, Greek, Dutch, British",
    "language": "English, French, German, Spanish, Italian, Japanese, Portuguese, Hindi, Mandarin, Arabic, Korean, Russian, Polish",
    "continent": "Europe, Asia, Africa, North America, South America, Oceania",
    "region": "North, South, East, West, Northeast, Midwest, Pacific, Central, Coast, Alps, Highlands, EMEA, APAC",
    "state": "California, Texas, Ohio, Florida, Nevada, Oregon, Maine, Utah, Bavaria, Saxony, CA, NY, TX, WA, Kansas, Georgia",
    "color": "red, blue, green, black, white, yellow, silver, grey, brown, purple, orange, pink, Red, Blue, Green, Black, White",
    "status": "open, closed, pending, active, cancelled, shipped, delivered, new, done, failed, Open, Closed, Pending, in progress, on hold, resolved",
    "priority": "low, medium, high, critical, Low, Medium, High, urgent, normal",
    "gender": "male, female, M, F, Male, Female, other",
    "genre": "Comedy, Drama, Thriller, Horror, Romance, Action, Documentary, Animation, Jazz, Rock, Pop, Blues, Folk, Fantasy, Mystery, Western, Sci-Fi, Crime",
    "style": "IPA, Stout, Pilsner, Porter, Lager, Pale Ale, Wheat Beer, modern, classic, baroque, casual, Gothic, Minimalist, Impressionism",
    "category": "Electronics, Clothing, Books, Toys, Sports, Garden, Food, Beauty, Office, Music, Health, Furniture, Kitchen, Outdoor, Games, Tools, Pets",
    "department": "Sales, Marketing, Engineering, Finance, HR, Support, Legal, Research, Design, Operations, IT, Production, Logistics",
    "occupation": "teacher, nurse, engineer, lawyer, baker, carpenter, pilot, farmer, chef, architect, dentist, plumber, clerk, writer",
    "role": "admin, editor, viewer, manager, developer, analyst, owner, guest, Captain, Goalkeeper, Designer",
    "position": "goalkeeper, defender, midfielder, forward, Manager, Analyst, Director, Intern, Engineer, Consultant, Assistant",
    "team": "Tigers, Lions, Eagles, Sharks, Bulls, Hawks, Wolves, Bears, Rangers, United, Rovers, Dragons",
    "brand": "Acme, Nova, Zenit, Orbix, Lumen, Kestrel, Vanta, Solara, Pixar Tools, Northwind, Contoso, Fabrikam, Globex, Initech, Umbra",
    "manufacturer": "Boeing, Airbus, Toyota, Honda, Ford, Volvo, Fiat, Siemens, Bosch, Nokia, Acme, Globex, Yamaha, Canon",
    "company": "Acme, Globex, Initech, Umbra, Hooli, Stark Ltd, Wayne Corp, Northwind, Contoso, Fabrikam, Vandelay, Wonka",
    "type": "basic, premium, standard, deluxe, gold, silver, economy, business, hatchback, sedan, hybrid, electric, manual, savings, checking",
    "plan": "free, basic, pro, enterprise, Starter, Premium, Team, Family",
    "size": "small, medium, large, S, M, L, XL, extra large, tiny",
    "material": "wood, steel, cotton, leather, plastic, glass, wool, silk, Aluminium, ceramic, bamboo",
    "currency": "EUR, USD, GBP, JPY, CHF, CAD, AUD, SEK",
    "breed": "Labrador, Poodle, Beagle, Siamese, Persian, Bulldog, Husky, Dachshund, Corgi, Bengal",
    "species": "cat, dog, parrot, rabbit, oak, pine, salmon, trout, wolf, fox, hamster, turtle",
    "cuisine": "Italian, Thai, Indian, Mexican, French, Japanese, Greek, Lebanese, Korean, Ethiopian, Vegan",
    "method": "cash, card, credit card, paypal, bank transfer, voucher, invoice, Visa, Mastercard",
    "channel": "email, phone, chat, web, social, store, TV, radio",
    "level": "beginner, intermediate, advanced, junior, senior, expert",
    "grade": "A, B, C, D, first, second, Bronze, Gold",
    "weather": "sunny, cloudy, rainy, windy, snowy",
    "season": "spring, summer, autumn, winter",
    "platform": "PC, PlayStation, Xbox, Switch, iOS, Android, Web, Linux, Windows, Mac",
    "browser": "Chrome, Firefox, Safari, Edge, Opera",
    "device": "mobile, desktop, tablet, iPhone, laptop",
    "os": "Linux, Windows, macOS, Android, iOS",
    "major": "Biology, History, Physics, Law, Economics, Chemistry, Philosophy, Mathematics, Art History, Computer Science",
    "subject": "Biology, History, Physics, Math, Geography, Chemistry, Music, Art, English",
    "industry": "Energy, Banking, Retail, Healthcare, Insurance, Telecom, Automotive, Aerospace, Media, Tourism, Mining",
    "religion": "Islam, Christianity, Buddhism, Hinduism, Judaism, none",
    "party": "Greens, Liberals, Labour, Conservatives, Democrats, Republicans, Independents",
    "format": "PDF, CSV, vinyl, CD, paperback, hardcover, ebook, DVD, digital, streaming",
    "flavor": "vanilla, chocolate, strawberry, lemon, mint, caramel, mango, coffee",
    "ingredient": "flour, sugar, salt, butter, milk, garlic, onion, basil, rice, cream, tomato",
    "disease": "flu, asthma, diabetes, malaria, migraine, measles, allergy",
    "outcome": "win, loss, draw, success, failure, approved, rejected",
    "result": "win, loss, draw, passed, failed, positive, negative",
}
VALUES = {key: tuple(dict.fromkeys(text.split(", "))) for key, text in _LISTS.items()}
PERSONS = frozenset(
    "author director owner customer manager player teacher artist employee singer student driver doctor nurse client seller agent "
    "coach composer writer designer captain winner judge candidate host editor producer reviewer publisher".split()
)
