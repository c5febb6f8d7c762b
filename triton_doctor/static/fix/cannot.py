"""The one way in which an edit fails: what stands there is not what the facts say, or not simple enough to change."""


class CannotEditError(Exception):
    """Why an edit is left undone, as the end of a sentence."""
