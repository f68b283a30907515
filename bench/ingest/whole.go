package main

import (
	"context"
	"errors"
	"flag"
)

func runMake(_ context.Context, _ *flag.FlagSet, _ []string) error  { return errors.New("not yet") }
func runWhole(_ context.Context, _ *flag.FlagSet, _ []string) error { return errors.New("not yet") }
