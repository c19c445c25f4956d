// Checks whether shapes broadcast, and prints the output or the fix: go run check.go URL SHAPE...
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
)

type answer struct {
	Compatible *bool // nil if the shapes fit for some of the symbolic sizes
	Shape      []any // an integer, or the name of a symbolic size
	Conflict   struct {
		Message string
		Hints   []struct{ Message string }
	}
}

type problem struct{ Code, Detail string }

func check(service string, shapes []string) (answer, error) {
	var checked answer
	response, err := http.Get(service + "/v1/check?" + url.Values{"input": shapes}.Encode())
	if err != nil {
		return checked, err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	if response.StatusCode != http.StatusOK {
		var refused problem
		if err := decoder.Decode(&refused); err != nil {
			return checked, err
		}
		return checked, fmt.Errorf("%s: %s", refused.Code, refused.Detail)
	}
	return checked, decoder.Decode(&checked)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: check URL SHAPE...")
	}
	checked, err := check(os.Args[1], os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	if checked.Compatible == nil || *checked.Compatible {
		fmt.Println(strings.Join(os.Args[2:], " and "), "broadcast to", checked.Shape)
		return
	}
	fmt.Println(checked.Conflict.Message)
	for _, hint := range checked.Conflict.Hints {
		fmt.Println("hint:", hint.Message)
	}
}
