package launcher

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/inputfile"
)

// sumsFile lists the SHA-256 of files in a model folder, as sha256sum does.
const sumsFile = "SHA256SUMS"

// checkFolder finds what is wrong with a model's folder, so that nobody waits
// for servers that will not load it. A path that is no folder here, such as a
// Hugging Face name, is left to the server, and so are a tokenizer and a chat
// template that the words of its command name.
func checkFolder(path string, words []string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	var faults []error
	if _, err := os.Stat(filepath.Join(path, "config.json")); err != nil {
		faults = append(faults, fmt.Errorf("model folder %s has no config.json: is it the folder of a model?", path))
	}
	elsewhere := slices.ContainsFunc(words, func(word string) bool {
		flag, _, _ := strings.Cut(word, "=")
		return flag == "--chat-template" || flag == "--tokenizer" || flag == "--tokenizer-mode"
	})
	if !elsewhere {
		faults = append(faults, checkTemplate(path))
	}
	return errors.Join(append(faults, checkSums(path))...)
}

// checkTemplate looks for the chat template, without which every request fails.
func checkTemplate(folder string) error {
	for _, name := range []string{"chat_template.jinja", "chat_template.json"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return nil
		}
	}
	path := filepath.Join(folder, "tokenizer_config.json")
	text, err := inputfile.Read(path, inputfile.Settings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var tokenizer struct {
		Template json.RawMessage `json:"chat_template"`
	}
	if err == nil {
		if err := json.Unmarshal(text, &tokenizer); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if t := string(tokenizer.Template); t == "" || t == "null" || t == `""` || t == "[]" {
		return fmt.Errorf("the tokenizer in %s has no chat template: put it into chat_template.jinja, "+
			"or under chat_template in tokenizer_config.json, or name one by the argument --chat-template", folder)
	}
	return nil
}

// checkSums compares files with what sumsFile says of them, if it is there.
func checkSums(folder string) error {
	text, err := inputfile.Read(filepath.Join(folder, sumsFile), inputfile.Settings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var faults []error
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			faults = append(faults, checkSum(folder, line))
		}
	}
	return errors.Join(faults...)
}

// checkSum compares one file with its line of sumsFile.
func checkSum(folder, line string) error {
	want, name, found := strings.Cut(line, " ")
	name = strings.TrimPrefix(strings.TrimSpace(name), "*")
	if _, err := hex.DecodeString(want); !found || err != nil || len(want) != 2*sha256.Size || !filepath.IsLocal(name) {
		return fmt.Errorf("%s: %q is not a SHA-256 and the name of a file in the folder", filepath.Join(folder, sumsFile), line)
	}
	path := filepath.Join(folder, name)
	file, err := inputfile.Open(path, inputfile.Content)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there, and %s lists it: get it again", path, sumsFile)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if is := hex.EncodeToString(hash.Sum(nil)); is != strings.ToLower(want) {
		return fmt.Errorf("%s has the SHA-256 %s, %s says %s: it is not the file that was meant, get it again", path, is, sumsFile, want)
	}
	return nil
}
