// Quotes of a mover: /vans/<n>, /crates/<n> and /routes/<n> are read from its depots, /prices/<n> is known here.
//
//	quotes -listen 127.0.0.1:8080 -access-log FILE -depots ADDRESS -conns N -release N -rounds N
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

// newClient returns a client with so many connections to the depots.
func newClient(conns int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxConnsPerHost:     conns,
		MaxIdleConnsPerHost: conns,
		IdleConnTimeout:     90 * time.Second,
	}}
}

// read returns what a depot answers.
func read(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.String("settings", "", "not in use")
	depots := flag.String("depots", "127.0.0.1:9000", "address:port of the depots")
	conns := flag.Int("conns", 8, "connections of a client")
	release := flag.Int("release", 1, "")
	rounds := flag.Int("rounds", 500, "what an answer costs")
	flag.Parse()
	vans := newClient(*conns)
	planner := newClient(6 * *conns)
	if *release >= 30 {
		// There is a single client, which counts and traces all calls.
		planner = vans
	}
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began, status, text := time.Now(), 200, []byte(r.URL.Path)
		if !strings.HasPrefix(r.URL.Path, "/prices/") {
			client := vans
			if strings.HasPrefix(r.URL.Path, "/routes/") {
				client = planner
			}
			var err error
			if text, err = read(r.Context(), client, "http://"+*depots+r.URL.Path); err != nil {
				log.Print(err)
				status = 502
			}
		}
		sum := sha256.Sum256(text)
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
