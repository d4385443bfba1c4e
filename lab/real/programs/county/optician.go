// An optician: /glasses/<n> asks a maker of lenses over TLS, /frames/<n> and /tests/<n> are known here.
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

func newMaker(authority, name string) *http.Client {
	text, err := os.ReadFile(authority)
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	settings := &tls.Config{RootCAs: roots, ServerName: name}
	return &http.Client{
		Timeout:   4 * time.Second,
		Transport: &http.Transport{TLSClientConfig: settings, MaxIdleConnsPerHost: 8, IdleConnTimeout: 2 * time.Second},
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address:port")
	accessLog := flag.String("access-log", "", "file")
	flag.String("settings", "", "file that this service does not need")
	maker := flag.String("maker", "", "address:port of the maker of lenses")
	name := flag.String("name", "", "name of the maker")
	authority := flag.String("authority", "", "file of the authority")
	rounds := flag.Int("rounds", 500, "what an answer costs")
	flag.Parse()
	lines, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	client := newMaker(*authority, *name)
	readLenses := func(number string) (string, int) {
		answer, err := client.Get("https://" + *maker + "/lenses/" + number)
		if err != nil {
			return "", http.StatusBadGateway
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			return "", http.StatusBadGateway
		}
		return fmt.Sprint(len(text) % 97), http.StatusOK
	}
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		began := time.Now()
		digest := sha256.Sum256([]byte(request.URL.Path))
		for round := 0; round < *rounds; round++ {
			digest = sha256.Sum256(digest[:])
		}
		lenses, status := "", http.StatusOK
		if number, isGlasses := strings.CutPrefix(request.URL.Path, "/glasses/"); isGlasses {
			lenses, status = readLenses(number)
		}
		writer.Header().Set("Content-Type", "application/json")
		writer.WriteHeader(status)
		fmt.Fprintf(writer, `{"digest":"%x","lenses":"%s"}`, digest[:8], lenses)
		fmt.Fprintf(lines, "%.3f GET %s %d %d\n", float64(began.UnixMilli())/1000, request.URL.Path, status,
			time.Since(began).Milliseconds())
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
