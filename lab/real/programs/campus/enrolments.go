// Enrolments of a faculty: /enrolments/<n> asks the service of places for a place, /programmes/<n> is in memory.
//
//	enrolments -listen 127.0.0.1:8080 -places ADDRESS -timeout 3s -attempts N -rounds N -access-log FILE
//
// timeout: how long an attempt may take. attempts: how often a place is requested at most.
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

// requestPlace returns what the service of places answers to a single attempt.
func requestPlace(parent context.Context, client *http.Client, url string, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("places: status %d", response.StatusCode)
	}
	return text, err
}

func main() {
	listen := flag.String("listen", ":8080", "")
	places := flag.String("places", "127.0.0.1:9000", "address:port of the service of places")
	timeout := flag.Duration("timeout", 3*time.Second, "how long an attempt may take")
	attempts := flag.Int("attempts", 2, "how often a place is requested at most")
	rounds := flag.Int("rounds", 500, "what an answer costs")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.String("settings", "", "not used")
	flag.Parse()
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began, status, text := time.Now(), 200, []byte(r.URL.Path)
		if strings.HasPrefix(r.URL.Path, "/enrolments/") {
			place := "http://" + *places + strings.Replace(r.URL.Path, "enrolments", "places", 1)
			for attempt := 1; attempt <= *attempts; attempt++ {
				answer, err := requestPlace(r.Context(), client, place, *timeout)
				if err == nil {
					status, text = 200, answer
					break
				}
				status = 504
				if attempt == *attempts {
					log.Printf("%s: %v", r.URL.Path, err)
				}
			}
		}
		sum := sha256.Sum256(text)
		for i := 0; i < *rounds; i++ {
			sum = sha256.Sum256(sum[:])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s %x\n", r.URL.Path, sum[:8])
		fmt.Fprintf(file, "%.3f %s %s %d %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path, status,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
