package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// An Alarm is what of a monitor's record train tells of.
type Alarm struct {
	Name string `json:"alarm"`
	Step string `json:"step"`
	Text string `json:"text"`
}

// ReadAlarms reads what judge --monitor --json wrote: one alarm a line, none in
// an empty file.
func ReadAlarms(path string) ([]Alarm, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var alarms []Alarm
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var a Alarm
		if err := json.Unmarshal(line, &a); err != nil || a.Name == "" {
			return nil, fmt.Errorf("%s:%d: is no alarm; want what judge --monitor --json writes", path, i+1)
		}
		alarms = append(alarms, a)
	}
	return alarms, nil
}
