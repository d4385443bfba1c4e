// Tickets of a zoo: /tickets/<n> is a picture with a code, /animals/<n> and /hours/<n> are short texts.
//
//	tickets -listen ADDRESS -access-log FILE -side PIXELS -rounds N
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

const cell = 4

// encodeTicket returns a picture whose cells follow from the text.
func encodeTicket(text string, side int) []byte {
	picture := image.NewRGBA(image.Rect(0, 0, side, side))
	for y := 0; y < side; y++ {
		row := sha256.Sum256([]byte(fmt.Sprintf("%s-%d", text, y/cell)))
		for x := 0; x < side; x++ {
			shade := row[(x/cell)%len(row)]
			picture.SetRGBA(x, y, color.RGBA{shade, uint8(x), uint8(y), 255})
		}
	}
	var buffer bytes.Buffer
	if err := png.Encode(&buffer, picture); err != nil {
		log.Print(err)
	}
	return buffer.Bytes()
}

// signText returns a short text that costs so many rounds.
func signText(text string, rounds int) []byte {
	sum := sha256.Sum256([]byte(text))
	for i := 0; i < rounds; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return []byte(fmt.Sprintf("%s %x\n", text, sum[:8]))
}

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	side := flag.Int("side", 200, "width and height of a ticket")
	rounds := flag.Int("rounds", 1000, "what a text costs")
	flag.Parse()
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		if number, ok := strings.CutPrefix(r.URL.Path, "/tickets/"); ok {
			w.Header().Set("Content-Type", "image/png")
			w.Write(encodeTicket(number, *side))
		} else {
			w.Write(signText(r.URL.Path, *rounds))
		}
		fmt.Fprintf(file, "%.3f %s %s 200 %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
