// franz-go and its registry client, driven over standard input and output: one JSON request per line, one JSON answer
// per line. Values travel as JSON; goavro turns them into Avro and back.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/linkedin/goavro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

const timeout = 30 * time.Second

type request struct {
	Op   string    `json:"op"`
	Args arguments `json:"args"`
}

type arguments struct {
	Topic  string            `json:"topic"`
	Kind   string            `json:"kind"`
	Schema string            `json:"schema"`
	Values []json.RawMessage `json:"values"`
	Count  int               `json:"count"`
}

type agent struct {
	bootstrap string
	registry  *sr.Client
}

// Tells a serde how values of a schema are encoded and decoded.
func register(serde *sr.Serde, id int, schema sr.Schema) error {
	if schema.Type != sr.TypeAvro {
		serde.Register(id, json.RawMessage{},
			sr.EncodeFn(func(value any) ([]byte, error) { return value.(json.RawMessage), nil }),
			sr.DecodeFn(func(data []byte, value any) error {
				*value.(*json.RawMessage) = append(json.RawMessage{}, data...)
				return nil
			}))
		return nil
	}
	codec, err := goavro.NewCodecForStandardJSONFull(schema.Schema)
	if err != nil {
		return err
	}
	serde.Register(id, json.RawMessage{},
		sr.EncodeFn(func(value any) ([]byte, error) {
			native, _, err := codec.NativeFromTextual(value.(json.RawMessage))
			if err != nil {
				return nil, err
			}
			return codec.BinaryFromNative(nil, native)
		}),
		sr.DecodeFn(func(data []byte, value any) error {
			native, _, err := codec.NativeFromBinary(data)
			if err != nil {
				return err
			}
			text, err := codec.TextualFromNative(nil, native)
			*value.(*json.RawMessage) = text
			return err
		}))
	return nil
}

func (a *agent) write(ctx context.Context, given arguments) error {
	schema := sr.Schema{Schema: given.Schema}
	if err := schema.Type.UnmarshalText([]byte(given.Kind)); err != nil {
		return err
	}
	created, err := a.registry.CreateSchema(ctx, given.Topic+"-value", schema)
	if err != nil {
		return err
	}
	var serde sr.Serde
	if err := register(&serde, created.ID, created.Schema); err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(a.bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	for _, value := range given.Values {
		data, err := serde.Encode(value)
		if err != nil {
			return err
		}
		record := &kgo.Record{Topic: given.Topic, Partition: 0, Value: data}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) read(ctx context.Context, given arguments) ([]json.RawMessage, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(a.bootstrap),
		kgo.ConsumeTopics(given.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var serde sr.Serde
	var values []json.RawMessage
	for len(values) < given.Count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("%d of %d records: %w", len(values), given.Count, err)
		}
		for _, record := range fetches.Records() {
			value, err := a.decode(ctx, &serde, record.Value)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
	}
	return values, nil
}

func (a *agent) decode(ctx context.Context, serde *sr.Serde, data []byte) (json.RawMessage, error) {
	id, _, err := serde.DecodeID(data)
	if err != nil {
		return nil, err
	}
	schema, err := a.registry.SchemaByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := register(serde, id, schema); err != nil {
		return nil, err
	}
	var value json.RawMessage
	err = serde.Decode(data, &value)
	return value, err
}

func (a *agent) answer(line []byte) (any, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	switch asked.Op {
	case "write":
		return nil, a.write(ctx, asked.Args)
	case "read":
		return a.read(ctx, asked.Args)
	}
	return nil, fmt.Errorf("no operation %q", asked.Op)
}

func main() {
	registry, err := sr.NewClient(sr.URLs(os.Args[2]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	a := &agent{bootstrap: os.Args[1], registry: registry}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16*1024*1024)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		result, err := a.answer(lines.Bytes())
		answer := map[string]any{"result": result}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		if err := answers.Encode(answer); err != nil {
			os.Exit(1)
		}
	}
}
