// Sights of an observatory: /sights/<n> describes what a telescope sees, with names as catalogs write them; /domes/<n> is
// brief.
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

const chapter = 12

// preparePatterns returns a pattern for each name of a catalog.
func preparePatterns(names int) []*regexp.Regexp {
	patterns := make([]*regexp.Regexp, names)
	for i := range patterns {
		patterns[i] = regexp.MustCompile(fmt.Sprintf(`(?i)\b(?:NGC|IC|M)[ -]?0*%d(?:[a-d]|\.[0-9]{1,3})?\b`, i+1))
	}
	return patterns
}

// writeNames returns the text with the names of a chapter in capital letters.
func writeNames(text string, patterns []*regexp.Regexp, first int) string {
	for i := 0; i < chapter; i++ {
		text = patterns[(first+i)%len(patterns)].ReplaceAllStringFunc(text, strings.ToUpper)
	}
	return text
}

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.String("settings", "", "not in use")
	release := flag.Int("release", 1, "")
	names := flag.Int("names", 1000, "in a catalog")
	flag.Parse()
	prepared := preparePatterns(*names)
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		n, _ := strconv.Atoi(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
		text := fmt.Sprintf("dome %d", n%9)
		if strings.HasPrefix(r.URL.Path, "/sights/") {
			patterns := prepared
			if *release > 20 {
				patterns = preparePatterns(*names)
			}
			text = writeNames(fmt.Sprintf("next to ngc %d, seen with m%d and ic-%d.1", n%*names, n%110, n%5000), patterns, n)
		}
		fmt.Fprintln(w, text)
		fmt.Fprintf(file, "%.3f %s %s 200 %.2f\n", float64(time.Now().UnixMilli())/1000, r.Method, r.URL.Path,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
