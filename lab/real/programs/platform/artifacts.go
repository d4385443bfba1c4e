// Artifacts of builds: /artifacts/<n> (some megabytes), /images/<n> (larger ones), /builds/<n> (a short state).
//
//	artifacts -listen 127.0.0.1:8080 -artifact-kb N -image-mb N -access-log FILE
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.String("settings", "", "not in use")
	artifactKb := flag.Int("artifact-kb", 3000, "how large an artifact is on average")
	imageMb := flag.Int("image-mb", 60, "how large an image is on average")
	flag.Parse()
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	content := make([]byte, 1<<20)
	rand.New(rand.NewSource(7)).Read(content)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		_, kind, _ := strings.Cut(r.URL.Path, "/")
		kind, number, _ := strings.Cut(kind, "/")
		n, _ := strconv.Atoi(number)
		size := 0
		switch kind {
		case "artifacts":
			size = *artifactKb * 1024 * (70 + n%61) / 100
		case "images":
			size = *imageMb * 1024 * 1024 * (80 + n%41) / 100
		default:
			sum := sha256.Sum256([]byte(r.URL.Path))
			for i := 0; i < 800; i++ {
				sum = sha256.Sum256(sum[:])
			}
			text := fmt.Sprintf("{\"build\": %d, \"state\": \"done\", \"sum\": \"%x\"}\n", n, sum)
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			fmt.Fprint(w, text)
		}
		if size > 0 {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		for size > 0 {
			part := min(size, len(content))
			if _, err := w.Write(content[:part]); err != nil {
				break
			}
			size -= part
		}
		fmt.Fprintf(file, "%.3f %s %s 200 %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
