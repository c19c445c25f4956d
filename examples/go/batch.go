// Checks 100 pairs of shapes in one request, and prints the pairs that fail: go run batch.go URL
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

type pair struct {
	Op     string   `json:"op"`
	Inputs [2][]int `json:"inputs"`
}

type result struct {
	Compatible bool
	Conflict   struct {
		Message string
		Hints   []struct{ Message string }
	}
	Error *struct{ Detail string } // nil if the pair is a valid request
}

func check(service string, pairs []pair) ([]result, error) {
	body, err := json.Marshal(map[string][]pair{"requests": pairs})
	if err != nil {
		return nil, err
	}
	response, err := http.Post(service+"/v1/check/batch", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var checked struct {
		Results []result
		Detail  string // of a refused request
	}
	if err := json.NewDecoder(response.Body).Decode(&checked); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Status, checked.Detail)
	}
	return checked.Results, nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: batch URL")
	}
	pairs := make([]pair, 100)
	for n := range pairs {
		pairs[n] = pair{"torch.add", [2][]int{{8, n + 1, 7, 7}, {n + 1, 1, 1}}}
	}
	pairs[17].Inputs[1] = []int{18}          // does not fit
	pairs[42].Inputs[0] = []int{8, -1, 7, 7} // not a shape
	results, err := check(os.Args[1], pairs)
	if err != nil {
		log.Fatal(err)
	}
	failed := 0
	for n, result := range results {
		if result.Compatible {
			continue
		}
		failed++
		if result.Error != nil {
			fmt.Printf("pair %d: %s\n", n, result.Error.Detail)
			continue
		}
		fmt.Printf("pair %d: %s\n", n, result.Conflict.Message)
		for _, hint := range result.Conflict.Hints {
			fmt.Println("  hint:", hint.Message)
		}
	}
	fmt.Printf("%d of %d pairs failed\n", failed, len(pairs))
	if failed > 0 {
		os.Exit(1)
	}
}
