// Answers requests without end: text is parsed, sorted and summed up.
package main

import (
	"encoding/json"
	"sort"
)

type row struct{ ID int }

func buildRequest(number int) []byte {
	rows := make([]row, 200)
	for place := range rows {
		rows[place].ID = number*31 + place
	}
	text, _ := json.Marshal(rows)
	return text
}

func parseFields(text []byte) []int {
	var rows []row
	if json.Unmarshal(text, &rows) != nil {
		return nil
	}
	values := make([]int, len(rows))
	for place, item := range rows {
		values[place] = item.ID ^ 77
	}
	return values
}

func sumSorted(values []int) int {
	sort.Ints(values)
	sum := 0
	for _, value := range values {
		sum = (sum*7 + value) % 1000003
	}
	return sum
}

func main() {
	answers := 0
	for number := 0; ; number++ {
		answers += sumSorted(parseFields(buildRequest(number)))
	}
}
