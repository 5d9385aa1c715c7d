"""Varied English inputs for a sentence encoder, the same ones each time.

Very short inputs are among them, since outliers of a transformer sit in the first token,
and that is a quarter of the mean over four.
"""

import numpy as np

SHORT = (
    "No.", "Why?", "Yes, absolutely!", "Hello", "Thank you", "Stop that", "Where to?",
    "Good morning, everyone", "42", "Never again", "It depends", "Paris", "Run!",
    "what time", "red apples", "Not yet", "Of course", "machine learning", "Help me",
    "See you tomorrow", "ok", "a b c", "Really?", "Two more beers",
)  # fmt: skip

SUBJECTS = (
    "The old lighthouse keeper", "My neighbour's cat", "A committee of economists",
    "The compiler's back end", "Our daughter", "Every train from Basel",
    "The new vaccine", "An anonymous reviewer", "The orchestra", "Her grandfather",
    "A small group of volunteers", "The quarterly report", "Nobody in the village",
    "The goalkeeper", "A neural network with few parameters", "The museum's curator",
)  # fmt: skip
VERBS = (
    "forgot", "has finally repaired", "will probably sell", "refused to discuss",
    "was looking for", "carefully measured", "cannot explain", "painted", "inherited",
    "accidentally deleted", "promised to return", "argued about", "sleeps beside",
    "is about to publish", "never understood", "photographed",
)  # fmt: skip
OBJECTS = (
    "the broken radio", "three unpublished letters", "a recipe for plum cake",
    "the results of the election", "an integer overflow", "the price of copper",
    "seventeen blue umbrellas", "the harbour at night", "a rare kind of moss",
    "the second half of the match", "its own shadow", "the patient's fever",
    "a theorem about prime numbers", "the smell of rain", "tax returns from 1998",
    "the bridge over the river",
)  # fmt: skip
ENDINGS = (
    "", "", "before breakfast", "in spite of the weather", "without telling anyone",
    "while the children were asleep", "because the budget had been cut",
    "at 3:45 p.m. on Tuesday", "for the first time in twenty years", "as usual",
    "although it cost almost $1,200", "(or so the newspapers said)",
)  # fmt: skip
LINKS = (", and", "; meanwhile", ", but", ", which is why", ". Later that year")


def clause(rng: np.random.Generator) -> str:
    """Who did what to which, and perhaps when or why."""
    parts = [rng.choice(words) for words in (SUBJECTS, VERBS, OBJECTS, ENDINGS)]
    return " ".join(str(part) for part in parts if part)


def sentence(rng: np.random.Generator) -> str:
    """One to three clauses, or a question."""
    text = clause(rng)
    for _ in range(rng.integers(0, 3)):
        text += f"{rng.choice(LINKS)} {clause(rng)}"
    return f"Is it true that {text}?" if rng.random() < 0.15 else f"{text}."


def make_sentences(count: int, seed: int, short: slice) -> list[str]:
    """Distinct inputs, the given ones of the short ones first."""
    rng = np.random.default_rng(seed)
    found = dict.fromkeys(SHORT[short])
    while len(found) < count:
        found[sentence(rng)] = None
    return list(found)
