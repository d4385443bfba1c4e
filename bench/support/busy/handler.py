"""Answer requests without end: text is parsed, sorted and summed up."""

import json


def build_request(number: int) -> str:
    """Return the text of a request."""
    return json.dumps([{"id": number * 31 + place} for place in range(200)])


def parse_fields(text: str) -> list[int]:
    """Return the numbers of a request."""
    return [row["id"] ^ 77 for row in json.loads(text)]


def sum_sorted(values: list[int]) -> int:
    """Return a sum that depends on the order."""
    total = 0
    for value in sorted(values):
        total = (total * 7 + value) % 1000003
    return total


def main() -> None:
    """Answer requests until the process is killed."""
    number = 0
    while True:
        sum_sorted(parse_fields(build_request(number)))
        number += 1


if __name__ == "__main__":
    main()
