"""What a watched program is doing now: its steps and requests, a small file that says so, and what reads such files.

In:  the observer's signals (a compile begins, a stage runs, a round of tuning tries a config), and calls of `step`
     and `request`.
Out: StepEvents in the recording; the live file of each process; `gather_states`, which `top` and `run --live` show.

A **step** is one iteration of training, a **request** one piece of a server's work. An **activity** is what a thread
does now that a launch found in memory would not: compile, run a stage of it, build a launcher, load a module, tune.
The **live file** holds the activities of one process and its counts. The process writes it in place, by one system
call in memory of the machine, and never waits for who reads it; a checksum tells a reader that it was being written.

Example: rank 3 launches `rope`, which compiles its 12th variant. Its live file says {"activities": [{"what":
"compiling", "kernel": "rope", "path": "serve.py", "line": 88, "variant": 12, "since_ns": ...}], ...}; `top` shows
`rank 3  compiling rope for 41 s at serve.py:88, variant 12: stage cubin`.
"""
