"""Random inputs: valid, nearly valid, mutated and wild ones, for every way by which input comes in.

`drawn.py` draws them, `records.py`, `requests.py`, `lines.py` and `arguments.py` are the four kinds, and
`harmless.py` (to the process of `process.py`) and `shell.py` feed them and say what has to hold.
`test_random_inputs.py` does so with some hundred, the one in `tests/faults/` with ten thousand each.
"""
