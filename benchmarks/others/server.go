// Shape checks with Go's own net/http: go build server.go && ./server PORT
package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
)

type output struct {
	Shape    []int `json:"shape"`
	Elements int   `json:"elements"`
}

type broadcastInput struct {
	Input         int   `json:"input"`
	Shape         []int `json:"shape"`
	Axes          []int `json:"axes"`
	BroadcastAxes []int `json:"broadcast_axes"`
}

type answer struct {
	Compatible      bool             `json:"compatible"`
	Axis            *int             `json:"axis,omitempty"`
	Shape           []int            `json:"shape,omitempty"`
	Outputs         []output         `json:"outputs,omitempty"`
	BroadcastInputs []broadcastInput `json:"broadcast_inputs,omitempty"`
	Warnings        []string         `json:"warnings"`
}

func check(inputs [][]int) answer {
	rank := 0
	for _, shape := range inputs {
		if len(shape) > rank {
			rank = len(shape)
		}
	}
	whole := make([]int, rank)
	for axis := range whole {
		whole[axis] = 1
	}
	for _, shape := range inputs {
		for own, size := range shape {
			axis := rank - len(shape) + own
			if whole[axis] == 1 {
				whole[axis] = size
			} else if size != 1 && size != whole[axis] {
				return answer{Axis: &axis, Warnings: []string{}}
			}
		}
	}
	elements := 1
	for _, size := range whole {
		elements *= size
	}
	broadcast := make([]broadcastInput, len(inputs))
	for input, shape := range inputs {
		added := rank - len(shape)
		axes, again := make([]int, len(shape)), make([]int, 0, rank)
		for own := range shape {
			axes[own] = added + own
		}
		for axis, size := range whole {
			if axis < added || shape[axis-added] != size {
				again = append(again, axis)
			}
		}
		broadcast[input] = broadcastInput{input, whole, axes, again}
	}
	outputs := []output{{whole, elements}}
	return answer{Compatible: true, Shape: whole, Outputs: outputs, BroadcastInputs: broadcast, Warnings: []string{}}
}

func handle(writer http.ResponseWriter, request *http.Request) {
	var message struct {
		Inputs [][]int `json:"inputs"`
	}
	if request.Method == "GET" {
		for _, text := range request.URL.Query()["input"] {
			var shape []int
			for _, digits := range strings.Split(text, "x") {
				size, err := strconv.Atoi(digits)
				if err != nil {
					http.Error(writer, err.Error(), 422)
					return
				}
				shape = append(shape, size)
			}
			message.Inputs = append(message.Inputs, shape)
		}
	} else if err := json.NewDecoder(request.Body).Decode(&message); err != nil {
		http.Error(writer, err.Error(), 400)
		return
	}
	body, _ := json.Marshal(check(message.Inputs))
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	writer.Write(body)
}

func main() {
	http.HandleFunc("/v1/check", handle)
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
