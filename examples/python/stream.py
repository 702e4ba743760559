"""Watch a run step by step, go back to the end of its first round, and try again with another setting."""

from cudamaster import fork, points, resume, stream

run = ""
for mode, event in stream("dot_product", device="cpu", rounds=2):
    if mode == "summary":
        run = event.run
        print(event.status, event.estimated_speedup.value)
    else:
        print("done:", *event)

for point in points(run):
    print(f"round {point.round}: {point.strategy}, {point.value:.3g}x")

other = fork(run, after_round=1, rounds=2, profile="none")
print(other, resume(other).status)
