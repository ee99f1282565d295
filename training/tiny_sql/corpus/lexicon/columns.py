"""Names of columns by kind of value, as schemas have them."""

TEXT = tuple(
    (
        "city country brand category status color style genre type email phone department description comment note language "
        "manufacturer supplier owner region state street address position nationality occupation author director publisher "
        "producer label team league platform model material flavor brewery vendor customer client manager teacher driver doctor "
        "artist singer band venue stadium airport airline station route carrier currency unit grade level kind review plot "
        "summary message subject topic tag source channel format shape texture size gender role skill hobby major college "
        "university company industry sector product item sku code reason result outcome method mode origin destination location "
        "place district county province village hotel restaurant cuisine dish ingredient species breed family habitat disease "
        "symptom treatment drug ward clinic court judge verdict party candidate office section editor newspaper magazine network "
        "host season character priority theme segment designer composer writer seller winner captain coach agent airport_code "
        "postal_code username website title_en continent capital religion plan payment_method os browser device"
    ).split()
)
INT = tuple(
    (
        "age year quantity stock rating stars pages seats floors wins losses rank capacity attendance population votes followers "
        "employees visits views likes downloads goals points assists games rooms bedrooms bathrooms beds doors wheels cylinders "
        "horsepower mileage duration minutes hours days calories servings steps laps rounds level version episodes season chapters "
        "volume issue copies units orders returns complaints tickets members students credits lines words parts pieces built_year "
        "founded_year birth_year model_year release_year passengers crew flights stops children awards nominations medals priority "
        "enrollment comments shares plays clicks errors logins sales size"
    ).split()
)
NUM = tuple(
    (
        "price weight height length width depth salary score budget revenue discount temperature distance area tax balance cost "
        "amount total fee wage bonus income profit loss speed rate ratio percentage margin share interest voltage power current "
        "pressure humidity rainfall wind_speed altitude latitude longitude gpa abv alcohol acidity sugar fat protein fiber density "
        "radius diameter thickness dosage deposit rent mortgage premium rating gross elevation turnover sales duration tip "
        "gross_income market_value unit_price total_amount list_price net_worth"
    ).split()
)
DATE = tuple(
    (
        "date order_date created_at updated_at birth_date hire_date opened_on closed_on due_date release_date expiry_date "
        "start_date end_date purchase_date delivery_date shipped_on signup_date last_login invoice_date payment_date check_in "
        "check_out arrival_date departure_date issued_on founded_on published_on recorded_on visit_date admission_date "
        "discharge_date joined launch_date inspection_date birthday sent_at posted_on booked_at date_of_birth released opened "
        "registered_on completed_at"
    ).split()
)
BOOL = tuple(
    (
        "active urgent paid verified archived available discontinued premium public private featured approved deleted completed "
        "shipped refunded organic vegan imported licensed retired insured enrolled married certified locked published cancelled "
        "seasonal vegetarian delivered full_time in_stock on_sale open_source"
    ).split()
)
LONG_TEXTS = frozenset("description comment note review plot summary message bio abstract content".split())
NAMES = ("name", "name", "name", "title", "{table}_name", "{table}_name", "full_name", "label")
# Whole numbers by which rows are grouped, and which are not summed.
GROUPING_INTS = frozenset("year stars rating level season grade floor priority rank version".split())
NEVER_SUMMED = frozenset(
    "year age rank rating stars version level season grade latitude longitude temperature gpa abv ratio rate percentage height "
    "altitude priority humidity pressure density acidity size".split()
)
