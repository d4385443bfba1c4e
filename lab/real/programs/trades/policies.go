// Policies of an insurer: /quotes/<n> needs a tariff of another service, /cars/<n> and /claims/<n> are known here.
//
//	policies -listen 127.0.0.1:8080 -access-log FILE -tariffs ADDRESS -name NAME -authority FILE -rounds N
package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

var rounds int

// sign does the work that an answer costs.
func sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	for i := 0; i < rounds; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return fmt.Sprintf("%x", sum[:8])
}

// newClient returns a client that trusts the authority of the company.
func newClient(authority, name string) *http.Client {
	text, err := os.ReadFile(authority)
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: name},
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     30 * time.Second,
	}
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}
}

func fetchTariff(client *http.Client, tariffs, number string) (string, error) {
	answer, err := client.Get("https://" + tariffs + "/tariffs/" + number)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	tariffs := flag.String("tariffs", "", "address:port of the service of tariffs")
	name := flag.String("name", "", "its name")
	authority := flag.String("authority", "", "the certificate of the company")
	flag.IntVar(&rounds, "rounds", 1500, "")
	flag.Parse()
	client := newClient(*authority, *name)
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began, status, text := time.Now(), 200, r.URL.Path
		if number, ok := strings.CutPrefix(r.URL.Path, "/quotes/"); ok {
			var err error
			if text, err = fetchTariff(client, *tariffs, number); err != nil {
				log.Print(err)
				status = 502
			}
		}
		w.Header().Set("X-Signature", sign(text))
		w.WriteHeader(status)
		fmt.Fprintln(w, text)
		fmt.Fprintf(file, "%.3f %s %s %d %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path, status,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
