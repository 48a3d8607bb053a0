// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cctype>
#include <cstdlib>
#include <optional>

#include "passes/builder.h"
#include "passes/text.h"

namespace tir {
namespace {

enum class Tok { End, Ident, Local, Global, Number, Punct, Bad };

struct Token {
  Tok Kind = Tok::End;
  std::string Text;
  unsigned Line = 1;
};

class Lexer {
public:
  explicit Lexer(std::string_view Text) : Text(Text) {}

  Token next() {
    skipBlanks();
    Token T;
    T.Line = Line;
    if (Pos == Text.size())
      return T;
    const char C = Text[Pos];
    if (C == '%' || C == '@') {
      ++Pos;
      T.Kind = C == '%' ? Tok::Local : Tok::Global;
      T.Text = word();
    } else if (isDigit(C) || C == '-') {
      T.Kind = Tok::Number;
      T.Text = C;
      for (++Pos; Pos < Text.size() && isDigit(Text[Pos]); ++Pos)
        T.Text += Text[Pos];
    } else if (isWord(C)) {
      T.Kind = Tok::Ident;
      T.Text = word();
    } else {
      T.Kind = std::string_view("(){}[],:=").find(C) == std::string_view::npos
                   ? Tok::Bad
                   : Tok::Punct;
      T.Text = C;
      ++Pos;
    }
    return T;
  }

private:
  static bool isDigit(char C) { return C >= '0' && C <= '9'; }
  static bool isWord(char C) {
    return std::isalnum(static_cast<unsigned char>(C)) || C == '_' || C == '.';
  }

  std::string word() {
    const std::size_t Start = Pos;
    while (Pos < Text.size() && isWord(Text[Pos]))
      ++Pos;
    return std::string(Text.substr(Start, Pos - Start));
  }

  void skipBlanks() {
    while (Pos < Text.size()) {
      if (Text[Pos] == ';') {
        while (Pos < Text.size() && Text[Pos] != '\n')
          ++Pos;
      } else if (Text[Pos] == '\n') {
        ++Line;
        ++Pos;
      } else if (std::isspace(static_cast<unsigned char>(Text[Pos]))) {
        ++Pos;
      } else {
        return;
      }
    }
  }

  std::string_view Text;
  std::size_t Pos = 0;
  unsigned Line = 1;
};

std::optional<Opcode> lookupOpcode(const std::string &Text) {
#define TIR_BINARY(Enum, text) \
  if (Text == text)            \
    return Opcode::Enum;
#define TIR_OTHER(Enum, text) TIR_BINARY(Enum, text)
#define TIR_TERM(Enum, text) TIR_BINARY(Enum, text)
#include "passes/opcodes.def"
  return std::nullopt;
}

class Parser {
public:
  Parser(std::string_view Text, Diagnostic &Diag) : Lex(Text), Diag(Diag) { bump(); }

  bool module(Module &M) {
    while (Cur.Kind != Tok::End)
      if (!function(M))
        return false;
    return true;
  }

private:
  /// A phi may name values defined further down; patch those at the end.
  struct Pending {
    Instruction *Phi;
    Token Name;
    BasicBlock *From;
  };

  void bump() { Cur = Lex.next(); }

  bool fail(const Token &At, std::string Message) {
    Diag = {At.Line, std::move(Message)};
    return false;
  }

  bool isPunct(char C) const { return Cur.Kind == Tok::Punct && Cur.Text[0] == C; }

  bool accept(char C) {
    if (!isPunct(C))
      return false;
    bump();
    return true;
  }

  bool expect(char C) {
    return accept(C) || fail(Cur, std::string("expected '") + C + "'");
  }

  bool take(Tok Kind, Token &Out, const char *What) {
    if (Cur.Kind != Kind || Cur.Text.empty())
      return fail(Cur, std::string("expected ") + What);
    Out = Cur;
    bump();
    return true;
  }

  bool function(Module &M) {
    Token T;
    if (!take(Tok::Ident, T, "'func'"))
      return false;
    if (T.Text != "func")
      return fail(T, "expected 'func'");
    if (!take(Tok::Global, T, "a function name"))
      return false;
    if (M.find(T.Text))
      return fail(T, "redefinition of @" + T.Text);

    F = M.addFunction(T.Text);
    Values.clear();
    Labels.clear();
    Fixups.clear();
    if (!expect('('))
      return false;
    while (!accept(')')) {
      if (!F->args().empty() && !expect(','))
        return false;
      if (!take(Tok::Local, T, "an argument name"))
        return false;
      if (!define(T, F->addArgument(T.Text)))
        return false;
    }
    if (!expect('{'))
      return false;
    while (!accept('}'))
      if (!block())
        return false;
    return finish();
  }

  bool block() {
    Token T;
    if (!take(Tok::Ident, T, "a block label") || !expect(':'))
      return false;
    BasicBlock *BB = label(T.Text);
    if (!BB->instructions().empty())
      return fail(T, "redefinition of block " + T.Text);
    Builder B(BB);
    while (!BB->terminator())
      if (!instruction(B))
        return false;
    return true;
  }

  bool instruction(Builder &B) {
    Token Name, Op;
    const bool Named = Cur.Kind == Tok::Local;
    if (Named && (!take(Tok::Local, Name, "a name") || !expect('=')))
      return false;
    if (!take(Tok::Ident, Op, "an opcode"))
      return false;
    const std::optional<Opcode> Code = lookupOpcode(Op.Text);
    if (!Code)
      return fail(Op, "unknown opcode '" + Op.Text + "'");
    if (Named != (isBinary(*Code) || *Code == Opcode::Phi))
      return fail(Op, Named ? "instruction yields no value" : "result needs a name");

    if (isBinary(*Code)) {
      Value *L = nullptr, *R = nullptr;
      return operand(L) && expect(',') && operand(R) &&
             define(Name, B.binary(*Code, L, R, Name.Text));
    }
    return *Code == Opcode::Phi ? phi(B, Name) : effect(B, *Code);
  }

  bool effect(Builder &B, Opcode Code) {
    Value *V = nullptr;
    if (Code != Opcode::Br && !operand(V))
      return false;
    if (Code == Opcode::Emit)
      return B.createEmit(V) != nullptr;
    if (Code == Opcode::Ret)
      return B.createRet(V) != nullptr;

    Token First, Second;
    if (Code == Opcode::CondBr) {
      if (!expect(',') || !take(Tok::Ident, First, "a label") || !expect(',') ||
          !take(Tok::Ident, Second, "a label"))
        return false;
      BasicBlock *Then = label(First.Text);
      return B.createCondBr(V, Then, label(Second.Text)) != nullptr;
    }
    return take(Tok::Ident, First, "a label") &&
           B.createBr(label(First.Text)) != nullptr;
  }

  bool phi(Builder &B, const Token &Name) {
    Instruction *Phi = B.createPhi(Name.Text);
    do {
      Token From;
      if (!expect('['))
        return false;
      const Token In = Cur;
      bump();
      if (!expect(',') || !take(Tok::Ident, From, "a label") || !expect(']'))
        return false;
      Fixups.push_back({Phi, In, label(From.Text)});
    } while (accept(','));
    return define(Name, Phi);
  }

  bool operand(Value *&Out) {
    const Token T = Cur;
    bump();
    return resolve(T, Out);
  }

  bool resolve(const Token &T, Value *&Out) {
    if (T.Kind == Tok::Number) {
      Out = F->constant(std::strtoll(T.Text.c_str(), nullptr, 10));
      return true;
    }
    if (T.Kind != Tok::Local)
      return fail(T, "expected an operand");
    auto It = Values.find(T.Text);
    if (It == Values.end())
      return fail(T, "use of undefined value %" + T.Text);
    Out = It->second;
    return true;
  }

  bool define(const Token &Name, Value *V) {
    return Values.emplace(Name.Text, V).second ||
           fail(Name, "redefinition of %" + Name.Text);
  }

  BasicBlock *label(const std::string &Name) {
    BasicBlock *&BB = Labels[Name];
    if (!BB)
      BB = F->addBlock(Name);
    return BB;
  }

  bool finish() {
    for (const Pending &P : Fixups) {
      Value *V = nullptr;
      if (!resolve(P.Name, V))
        return false;
      P.Phi->addIncoming(V, P.From);
    }
    if (!F->entry())
      return fail(Cur, "function @" + F->name() + " has no blocks");
    for (const auto &BB : F->blocks())
      if (!BB->terminator())
        return fail(Cur, "block " + BB->label() + " is never defined");
    return true;
  }

  Lexer Lex;
  Diagnostic &Diag;
  Token Cur;
  Function *F = nullptr;
  std::map<std::string, Value *> Values;
  std::map<std::string, BasicBlock *> Labels;
  std::vector<Pending> Fixups;
};

}  // namespace

std::unique_ptr<Module> parseModule(std::string_view Text, Diagnostic &Diag) {
  auto M = std::make_unique<Module>();
  if (!Parser(Text, Diag).module(*M))
    return nullptr;
  return M;
}

}  // namespace tir
