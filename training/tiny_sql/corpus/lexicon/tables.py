"""Names of tables: things, and people, of whom a question asks `who`."""

THINGS = tuple(
    (
        "product film movie beer ticket review order course book song album concert stadium car flight airport airline hotel room "
        "booking restaurant dish recipe ingredient city country river mountain museum painting dog cat pet treatment match team "
        "league tournament race school department project task invoice payment account branch store sale item shipment "
        "warehouse machine sensor reading game console app download post comment video channel show episode house apartment "
        "property appointment prescription drug clinic hospital ward plant tree farm crop animal species park trail event venue "
        "club library loan magazine article stock trade fund company office contract case election district ship port container "
        "train station bus route stop bike rental camera phone laptop device repair part vehicle garage wine winery vineyard "
        "cheese bakery cafe shop brand brewery region planet lake island bridge tower satellite mission lab experiment subject "
        "lesson exam grade class campaign advert subscription plan claim policy refund return transaction transfer deposit "
        "bill meter alert incident server job application message email note document report survey answer language award "
        "series season competition training visit purchase supplier_order work_order category genre"
    ).split()
)
PEOPLE = tuple(
    (
        "customer employee student teacher author artist singer maker pilot guest visitor owner vet player coach driver user "
        "tenant agent patient doctor sponsor member editor lawyer candidate worker person manager client supplier director actor "
        "musician nurse athlete instructor passenger seller buyer donor volunteer scientist engineer chef reviewer subscriber "
        "contact lead voter citizen runner trainer friend follower contributor developer"
    ).split()
)
BRIDGES = tuple(
    (
        "enrollment membership participation assignment registration order_item line_item booking performance appearance "
        "credit casting reservation attendance link usage ownership"
    ).split()
)
MODIFIERS = tuple(
    (
        "unit list base net gross home billing shipping first last short long main primary secondary annual monthly daily weekly "
        "current previous original final local foreign public private senior junior full half extra special retail wholesale "
        "summer winter new old online regional global internal external"
    ).split()
)
