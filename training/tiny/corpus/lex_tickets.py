"""Vocabulary of support tickets: what happened, how urgent, in which tone."""

from training.tiny.corpus.text import Pool

KINDS: dict[str, Pool] = {
    "billing": Pool("""
        I was charged twice for order {order}; my invoice shows the wrong amount
        the bill for {time} is too high; there is an unknown charge of {price} on my credit card
        I need a copy of the invoice for order {order}; the discount code was not applied to my bill
        why was my card debited {price}; my payment of {price} was taken twice
        the VAT on the invoice is wrong; please correct the billing address on the invoice
        I have been overcharged by {price}; I pay by direct debit but got a payment reminder
        the monthly fee went up without notice
    """),
    "shipping": Pool("""
        my parcel has not arrived yet; order {order} is stuck in {city}
        the tracking has not moved for {span}; the courier left the package with a neighbour
        when will order {order} be delivered; the delivery is late
        I want to change the delivery address to {city}; the package was delivered to the wrong house
        where is my order {order}; the shipment was lost; the box was sent to {city} by mistake
        tracking says delivered but nothing came
    """),
    "technical": Pool("""
        the app crashes when I open it; I get error 500 on your website; the {item} does not connect to wifi
        the update failed; the screen of my {item} stays black; the software freezes after login
        bluetooth pairing fails; the page does not load; the {item} shows an error code; video has no sound
        the app is very slow since the update; the sync stopped working; the sensor gives wrong readings
        the firmware of the {item} cannot be installed
    """),
    "account": Pool("""
        I cannot log in; I forgot my password; please change my email address; my account is locked
        I want to delete my account; two-factor codes do not reach me; how can I change my user name
        someone hacked my account; please merge my two accounts; I no longer have access to my email
        my profile shows a wrong name; password reset fails
    """),
    "refund": Pool("""
        I want my money back for order {order}; please refund {price}
        I returned the {item} and wait for the refund; I would like a refund for the {item}
        when will I get my refund of {price}; I ask for a full refund
        the refund for order {order} has not arrived; I am requesting my money back
        please reimburse me for the {item}
    """),
    "cancellation": Pool("""
        please cancel order {order}; I want to cancel my subscription
        cancel my membership at the end of the month; I ordered the {item} by mistake, please cancel it
        how do I cancel; stop my plan, please; I wish to end my contract
        please do not ship order {order}, I changed my mind; I want to terminate the subscription
    """),
    "product question": Pool("""
        does the {item} come in blue; is the {item} in stock; what is the warranty of the {item}
        which size should I choose; is the {item} suitable for children
        how long does the battery of the {item} last; can I use the {item} outdoors
        what is the difference between the two models; do you have the {item} in white
    """),
    "complaint": Pool("""
        your agent was rude to me on the phone; I waited an hour in the hotline; nobody answers my mails
        your service is getting worse and worse; I want to complain about your staff in {city}
        the shop assistant was impolite; I am very unhappy with your customer service
        I have been ignored for {span}; this is a formal complaint
    """),
    "damaged item": Pool("""
        the {item} arrived broken; the screen of the {item} is cracked
        the parcel was crushed and the {item} is dented; my {item} has a scratch
        the glass was smashed when I opened the box; the {item} came with a broken lid
        the {item} was damaged in transit; half of the plates were broken
    """),
}  # fmt: skip
KIND_NAMES = {
    "billing": ("Billing", "Payment", "Invoicing", "payments"),
    "shipping": ("Shipping", "Delivery", "Logistics"),
    "technical": ("Technical", "Technical Issue", "tech support", "IT"),
    "account": ("Account", "Login", "Account Access"),
    "refund": ("Refund", "Refund Request", "money back"),
    "cancellation": ("Cancellation", "Cancel", "cancel order"),
    "product question": ("Product Question", "Product Information", "presales", "question"),
    "complaint": ("Complaint", "Service Complaint"),
    "damaged item": ("Damaged Item", "Damage", "broken item"),
}  # fmt: skip
URGENT = Pool("""
this is urgent; please reply as soon as possible; I need this solved today; ASAP please; very urgent; URGENT
I need it by tomorrow; it cannot wait; please hurry; my whole business is down; time is running out
immediately, please; this is an emergency; I need an answer within the hour
we are losing money every minute; top priority, please
""")
RELAXED = Pool("""
no hurry; take your time; it is not urgent; whenever you have a moment; no rush; there is no need to hurry
it can wait until next week; answer when it suits you; just a question, nothing urgent; low priority for me
""")
ANGRY = Pool("""
I am furious; this is unacceptable; I am fed up; what a terrible service; I am very angry; you are a joke
I will tell everyone how bad you are; this is a disgrace; I have had enough; I am losing my patience
shame on you; I will call my lawyer; never again with you; this is outrageous; I am so annoyed
""")
POLITE = Pool("""
thank you for your help; thanks in advance; I appreciate your support; have a nice day
you have been great so far; many thanks; I love your shop otherwise; thank you very much
keep up the good work; your team is always so kind
""")
PLAIN = Pool("""
I am writing about my order; my customer number is on the invoice; I am a customer since {year}
I live in {city}; I ordered a {item} {time}; I already tried to restart; I have attached a photo
you can call me in the evening; I use your service at work; the order was placed {time}
I hope this is the right address; I wrote to you {time}
""")
GREETING = Pool(
    "Hello; Hi; Dear support team; Good morning; Hi there; "
    "To whom it may concern; Hey; Dear Sir or Madam; Hello team"
)
CLOSING = Pool(
    "Regards, {name}; Best, {name}; Kind regards, {name}; {name}; "
    "Thanks, {name}; Sincerely, {name}; Yours, {name}"
)
REFUND_ASK = Pool("""
please give me my money back; I want a refund; refund me; I expect a full refund; kindly refund the amount
I demand my money back; can I get a refund
""")
NO_REFUND_ASK = Pool("""
I do not want a refund, just a working one; please send me a replacement; a repair would be fine
I only want it to work; no refund needed; an answer is all I need
""")
