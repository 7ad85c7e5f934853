"""Features: what the contract lets a case have, by name, whether a case has it or not; counted by `quality.py`."""

Facts = dict[str, bool]  # every name always there, so that what is never drawn shows as 0 %
