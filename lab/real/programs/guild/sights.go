// Sights of an observatory: /sights/<n> describes what a telescope sees and counts the names of a catalog in that,
// /domes/<n> is brief.
//
//	sights -listen 127.0.0.1:8080 -access-log FILE -release N -names N
//
// Up to release 20, the patterns of names are prepared once.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const form = `\b(?:NGC|IC|M)[ -]?0*%d(?:[a-d][a-z]{0,40}|\.[0-9]{1,40}| (?:north|south)[a-z]{0,20})?\b`

// preparePattern returns the pattern of a name of a catalog.
func preparePattern(number int) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(form, number+1))
}

// countNames returns how many names of a catalog are in a text.
func countNames(text string, names int, get func(int) *regexp.Regexp) int {
	count := 0
	for i := 0; i < names; i++ {
		if get(i).MatchString(text) {
			count++
		}
	}
	return count
}

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.String("settings", "", "not in use")
	release := flag.Int("release", 1, "")
	names := flag.Int("names", 1000, "in a catalog")
	flag.Parse()
	prepared := make([]*regexp.Regexp, *names)
	for i := range prepared {
		prepared[i] = preparePattern(i)
	}
	get := func(number int) *regexp.Regexp { return prepared[number] }
	if *release > 20 {
		get = preparePattern
	}
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		n, _ := strconv.Atoi(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
		text := fmt.Sprintf("dome %d", n%9)
		if strings.HasPrefix(r.URL.Path, "/sights/") {
			text = fmt.Sprintf("next to NGC %d, seen with M%d and IC-%d.1", n%*names, n%110, n%5000)
			text += fmt.Sprintf(": %d names", countNames(text, *names, get))
		}
		fmt.Fprintln(w, text)
		fmt.Fprintf(file, "%.3f %s %s 200 %.2f\n", float64(time.Now().UnixMilli())/1000, r.Method, r.URL.Path,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
