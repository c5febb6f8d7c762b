"""The results of a scan to what the next one takes over: in memory, or in signed files of the project's folder.

In: a **scan result**, which has the summary and the findings of each file with their dependencies. Out: the same,
where file, version and settings are unchanged. A file whose signature is wrong is treated as absent: it may come from
anybody.

Example: after an edit of `a.py`, the scan cache gives the findings of all files whose dependencies do not name `a.py`.
Where the edit adds or removes nothing but comments in plain words and empty lines between statements, `a.py` says what
it said, on other lines: all findings stand, at their places of now.
"""
