package checkpoint

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// tokenizer is a byte-level tokenizer: a token for every byte, and the special
// ones of Qwen's chat format; no merges.
//
//go:embed tokenizer.json
var tokenizer []byte

// The templates of chats. A thinking model's prompt ends inside the thinking.
var (
	//go:embed chat.jinja
	chatTemplate string
	//go:embed thinking.jinja
	thinkingTemplate string
)

// padded is the tokenizer with a made word for every other token of a vocabulary.
// Noise is mostly those: were they without text, a server would send fewer pieces
// of an answer than it does for a real model. No prompt is made of them.
func padded(vocabulary int) (object, error) {
	var t object
	if err := json.Unmarshal(tokenizer, &t); err != nil {
		return nil, err
	}
	model, _ := t["model"].(object)
	vocab, there := model["vocab"].(object)
	if !there {
		return nil, fmt.Errorf("tokenizer.json has no model.vocab")
	}
	for id := len(vocab); id < vocabulary; id++ {
		vocab[word(id)] = id
	}
	return t, nil
}

// blank is how byte-level tokenizers spell a space.
const blank = "\u0120"

// word is the text of a made token: a space and four letters, which are different
// for all ids below 26⁴.
func word(id int) string {
	letters := []byte("aaaa")
	for i := range letters {
		letters[i] += byte(id % 26)
		id /= 26
	}
	return blank + string(letters)
}
