"""Instruction phrasings: those of training, and (`_UNSEEN`) whole templates kept for evaluation.

`{noun}` is review, comment, ...; `{data}` is the row's text, placed by `layouts`; `{lo}` and `{hi}` bound a
score.
"""

from training.tiny.corpus.text import lines

NOUNS = {
    "products": (
        "review",
        "review",
        "customer review",
        "product review",
        "comment",
        "feedback",
        "text",
        "opinion",
        "user review",
    ),
    "films": ("review", "film review", "movie review", "critique", "comment", "text", "review", "opinion"),
    "beers": ("review", "tasting note", "beer review", "comment", "text", "review", "note"),
    "tickets": (
        "ticket",
        "support ticket",
        "message",
        "request",
        "customer message",
        "text",
        "email",
        "mail",
    ),
}
SENTIMENT = lines("""
Classify the sentiment of this {noun}; What is the sentiment of this {noun}?
Is this {noun} positive or negative?; Sentiment; Determine the sentiment of the {noun}; Label the sentiment
Analyze the sentiment of the user's {noun}; Sentiment analysis; Analyse the sentiment
Classify the {noun} by sentiment; Decide how the writer feels; How does the author feel?; Judge the tone
How does the reviewer feel about it?; Is the tone good or bad?; Assign a sentiment label
Tell me the sentiment; Classify; Identify the sentiment expressed in the {noun}; What does the writer think?
Evaluate the sentiment of the {noun}; Rate the mood; Which label fits the {noun}?; Choose the right label
Predict the sentiment; Pick the sentiment of this {noun}; Mood of the {noun}
Read the {noun} and give its sentiment; Does the writer like it or not?; Detect the opinion in the {noun}
Good or bad?; Categorize the sentiment; Find out whether the writer is happy; What is the overall opinion?
State the polarity of the {noun}; Analyze the sentiments of user's {noun}; Is the author pleased?
What is the attitude of the {noun}?; Positive or negative?; What is the general impression?
Classify this {noun} as positive or negative; Tag this {noun} with its sentiment; Label this
""")
SENTIMENT_UNSEEN = lines("""
Work out if the person who wrote this came away content: {data}
{data}\\n\\nHow would you characterise the emotional tone above?
Consider the following words of a customer and name the feeling behind them. {data}
Opinion polarity for <{data}>; Would you say the verdict here is favourable? {data}
I need a sentiment tag for this entry: "{data}"; Entry: {data}\\nGive the matching attitude label.
Take a look at '{data}' and settle on the label that describes it best
Assess whether the following statement praises or condemns: {data}
""")
CATEGORY = {
    "category": lines("""
        Which category does this product belong to?; What kind of product is this?; Classify the product
        Product category; Assign a category to this product; Choose the category; Categorize this item
        In which department is this sold?; Category; Sort this product into a category
        Determine the product category; Which product category fits best?; What is being sold?
        Pick the department for this item; Label the product with a category; Tell me the category
        What type of article is it?; Find the right category for the product
        Under which heading should it be listed?; Which shelf does it belong on?
    """),
    "genre": lines("""
        Which genre is this film?; What is the genre of this movie?; Classify the film by genre; Genre
        Determine the genre; Choose the genre; What kind of film is this?; Categorize the movie by its plot
        Tell me the genre; Pick the right genre; Label this movie with a genre
        Which genre fits the plot best?; Assign a genre; Identify the film genre; Movie genre
        Based on the plot, what is the genre?; Categorize it into one of the following genres
        What sort of movie is it?
    """),
    "style": lines("""
        What kind of beer is this?; Which style family is this beer?; Classify the beer by style; Beer style
        Choose the style; Determine the beer style; Categorize this beer
        To which family does the beer belong?; Tell me the style; What type of beer; Pick the style family
        Label the beer with its style; Which style fits?; Assign a beer family; Identify the style
    """),
    "matter": lines("""
        What is this ticket about?; Classify the ticket; Which department should handle this?; Ticket type
        Choose the topic; Route this {noun} to a department; Categorize the {noun}
        What does the customer need?; Determine the issue type; Topic; What kind of problem is it?
        Assign a category to the {noun}; Label the {noun} by topic; Which team should answer?
        Identify the reason for the {noun}; Sort the {noun}; Tell me the topic of this {noun}
        Pick the queue for this {noun}
    """),
}
CATEGORY_UNSEEN = {
    "category": lines("""
        Where in the shop would I look for {data}; {data}\\nName the section that stocks it.
        File this article under its proper heading: {data}; I sell "{data}". What group is that?
    """),
    "genre": lines("""
        Someone pitched this story: {data} What would a video store label it?
        {data}\\n\\nSuch a motion picture is best described as
        Given the synopsis ({data}), say what sort of cinema it is
        On which streaming row would this plot appear? {data}
    """),
    "style": lines("""
        A bar lists {data}. To what sort does the drink belong?; Brew: {data}\\nName its broad class.
        Of which broad beer type is {data}; Put the following brew in the right group: {data}
    """),
    "matter": lines("""
        A client wrote in: {data} Where should it be forwarded?; {data}\\nName the concern raised above.
        Decide which queue gets this inquiry: "{data}"; Summing up the client's concern in one label: {data}
    """),
}
RATING = lines("""
Rate this {noun} from {lo} to {hi}; Rate {noun} from {lo} to {hi}
How many points from {lo} to {hi} does the author give?; Score this {noun} from {lo} to {hi}
Predict the rating from {lo} (bad) to {hi} (good); Rating from {lo} to {hi}; Rating
Give a score between {lo} and {hi}; What rating would the reviewer give, from {lo} to {hi}?
Rate the sentiment from {lo} to {hi}; How satisfied is the writer on a scale of {lo} to {hi}?
Rate on a scale from {lo} to {hi}; Score the satisfaction ({lo}-{hi})
Estimate the rating between {lo} and {hi}; Predict the overall rating; How many stars?
How positive is it, {lo} to {hi}?; Guess the number of stars, {lo} to {hi}
On a scale of {lo} to {hi}, how good is it?; Assign {lo} to {hi} points; Stars
Turn this {noun} into a score from {lo} to {hi}
Predict the user's overall rating from {lo} (bad) to {hi} (good); Score
Rate the satisfaction between {lo} (bad) and {hi} (good); How happy is the customer, from {lo} to {hi}?
Rate this; Rate it; Grade the {noun} from {lo} to {hi}; How would the author rate it?
Convert the {noun} to a rating; Rate the {noun}; Points; What score does this deserve?
How well did they like it ({lo} to {hi})?; Give the rating; {lo} is worst, {hi} is best. Rate
Rate how good the experience was; Judge the {noun} with a number from {lo} to {hi}
How many stars out of {hi}?; Evaluate
""")
RATING_UNSEEN = lines("""
Put a number on the enthusiasm here, with {lo} the lowest and {hi} the highest: {data}
{data}\\n\\nIf you had to award between {lo} and {hi} marks for that, how many?
Were the author to fill in a form ({lo}..{hi}), which number would be ticked? {data}
Entry: [{data}]\\nMarks between {lo} and {hi}
Somebody said "{data}". Express the approval as a figure, {lo} up to {hi}.
From {lo}, meaning dreadful, up to {hi}, meaning superb, where does this stand: {data}
Measure the approval in the words below, minimum {lo}, maximum {hi}.\\n{data}
Quantify contentment ({lo} minimum, {hi} maximum). {data}
""")
EXTRACTION = lines("""
Extract the {field}; What is the {field}?; Which {field} is mentioned?; Find the {field}; Return the {field}
{Field}; Give me the {field}; Name the {field}; Copy the {field} from the text; Output only the {field}
Extract the {field} from this text; Read the text and extract the {field}; Tell me the {field}
Get the {field}; Identify the {field}; Which {field}?; Only the {field}; extract {field}
Write the {field} and nothing else; The {field} is; Pull out the {field}; Look up the {field} in the text
Please give the {field} named in the text; Find the {field} in this description; Please extract the {field}
Show the {field}; What {field} is given here?; Return only the {field}; Determine the {field}
State the {field}; Detect the {field}; What is the {field} in this text?; I need the {field}
Search for the {field}; Report the {field}; List the {field}; Spot the {field}; Answer with the {field}
Which {field} does the text name?; {field} only; Quote the {field}; Print the {field}; Get me the {field}
""")
EXTRACTION_UNSEEN = lines("""
Somewhere in here stands the {field}, write it down: {data}; {data}\\n\\nFill in the form field "{field}".
Looking at [{data}], what would you enter as {field}?; Help me locate the {field}. {data}
Record: {data}\\nColumn to fill: {field}; Scan this passage and hand me its {field}: "{data}"
We are missing the {field} of this entry, could you supply it? {data}; Isolate the {field} within: {data}
""")
SUMMARY = lines("""
Summarize; Summarize this {noun}; Summarize the {noun} in one sentence; Give a short summary
Sum up this {noun}; Summary; Write a one sentence summary; Summarise this {noun} briefly
Shorten this {noun}; Summarize the user's {noun}; tl; dr; Please summarize
In one sentence, what does it say?; Make a short summary of the {noun}; Briefly summarize; Summarise
What is the gist of this {noun}?; Condense the {noun}; Put the {noun} in one sentence
What does the {noun} say in short?
""")
SUMMARY_UNSEEN = lines("""
Boil this down to a single line: {data}; {data}\\n\\nPlease restate the above in brief.
I have no time to read all of this, what is the point? {data}; Give me the essence of "{data}"
""")
REPLY = lines("""
Write a short polite reply; Reply to this {noun}; Answer this {noun} politely
Write an answer to the customer; Draft a reply; Write a friendly response
Respond to this {noun} in a polite way; Compose a short reply; How should we reply?; Polite reply
""")
