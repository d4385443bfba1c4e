// Boxes of farms: /arrivals/<n> asks a carrier, by its name, when a box arrives; /boxes/<n> and /farms/<n> are
// known here.
//
//	boxes -listen 127.0.0.1:8080 -access-log FILE -carrier http://rates.eu.carrier.example:80 -rounds N
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.String("settings", "", "not in use")
	carrier := flag.String("carrier", "", "URL of the carrier")
	rounds := flag.Int("rounds", 500, "what an answer costs")
	flag.Parse()
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	// The carrier closes each connection after its answer.
	dialer := &net.Dialer{Timeout: 4 * time.Second, Resolver: &net.Resolver{PreferGo: true}}
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began, status, text := time.Now(), 200, r.URL.Path
		if number, ok := strings.CutPrefix(r.URL.Path, "/arrivals/"); ok {
			answer, err := client.Get(*carrier + "/arrivals/" + number)
			if err != nil {
				log.Print(err)
				status = 502
			} else {
				size, _ := io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				text = fmt.Sprint(text, " ", size)
			}
		}
		sum := sha256.Sum256([]byte(text))
		for i := 0; i < *rounds; i++ {
			sum = sha256.Sum256(sum[:])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s %x\n", text, sum[:8])
		fmt.Fprintf(file, "%.3f %s %s %d %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path, status,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
