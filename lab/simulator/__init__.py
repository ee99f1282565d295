"""Discrete events in virtual time, driving the same policies as the vLLM plug-in.

There are four engines, each under the policies of its paper:

* `engine.py` serves relQueries. It counts the rows of one relQuery together.
* `requests/` serves single requests, a column for each of their numbers. `budget/` and `fleet/` run on it.
* `workflows/` serves steps of workflows. A step takes the memory of its whole output when it comes in, its
  place in the queue changes with time, and equal steps of the engine are computed at once.
* `admission/` is a curve of speeds, of the class that SABER's policy fits (a `StepTime`). It has no steps.

The first three serve the same rows first come, first served until the same second; tests hold them to 2 %.
One engine in their place would be that of single requests, which alone knows each row. Of 10,000 rows it
takes 3.3 times the processor time of the first (0.90 and 0.27 s; 2.2 times where all come at once), and 1.4
times that of the third with its workflows (0.63 s; 1.6 times where all come at once). It would also have to
learn the first's preemption, prefix cache and order by relQuery, and the third's reserved memory and moving
queue.
"""
