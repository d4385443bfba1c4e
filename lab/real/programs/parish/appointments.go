// Appointments of salons: /appointments/<n> makes one, /salons/<n> lists those of a salon, /hours/<n> needs no list.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type diary struct {
	sync.RWMutex
	taken map[int][]int
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address:port")
	accessLog := flag.String("access-log", "", "file")
	flag.String("settings", "", "file that this service does not need")
	salons := flag.Int("salons", 40, "how many salons there are")
	rounds := flag.Int("rounds", 500, "what an answer costs")
	flag.Parse()
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	all := &diary{taken: map[int][]int{}}
	handle := func(path string, answer func(number int) string) {
		http.HandleFunc(path, func(writer http.ResponseWriter, request *http.Request) {
			began := time.Now()
			number, _ := strconv.Atoi(strings.TrimPrefix(request.URL.Path, path))
			digest := sha256.Sum256([]byte(request.URL.Path))
			for round := 0; round < *rounds; round++ {
				digest = sha256.Sum256(digest[:])
			}
			writer.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(writer, `{"digest":"%x","answer":%s}`, digest[:8], answer(number))
			fmt.Fprintf(file, "%.3f GET %s 200 %d\n", float64(began.UnixMilli())/1000, request.URL.Path,
				time.Since(began).Milliseconds())
		})
	}
	handle("/appointments/", func(number int) string {
		all.Lock()
		defer all.Unlock()
		salon := number % *salons
		all.taken[salon] = append(all.taken[salon], number)
		if len(all.taken[salon]) > 60 {
			all.taken[salon] = all.taken[salon][30:]
		}
		return strconv.Itoa(len(all.taken[salon]))
	})
	handle("/salons/", func(number int) string {
		all.RLock()
		defer all.RUnlock()
		return "[" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(all.taken[number%*salons])), ","), "[]") + "]"
	})
	handle("/hours/", func(number int) string { return strconv.Itoa(8 + number%3) })
	log.Fatal(http.ListenAndServe(*listen, nil))
}
